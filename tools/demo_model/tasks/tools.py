"""The tools that tool_calling offers, and in which words people ask for them.

A wording that starts with a small letter is a request that may be wrapped ("Please ...", "Can you
...?"); the others stand as they are. "{x}" is the value of the parameter x, always as it is written
in the call, so that an answer is copied.
"""

import random
from dataclasses import dataclass
from typing import Any, Callable

from .wording import between, chance, pick
from .words import Words

_VERBS = ("bring buy fetch check clean return pack send order sign water paint sell move find fix "
          "wash feed lock empty").split()
_THINGS = ("the keys,the tickets,the report,the garden,the blue bag,the parcel,the windows,"
           "the books,the contract,the plants,the bicycle,the invoice,the sofa,the tent,"
           "the old car,the shoes,the dog,the boxes,the camera,the curtains").split(",")
_TITLES = ("dentist,yoga class,team meeting,piano lesson,birthday party,board meeting,"
           "job interview,car service,choir practice,parents evening,lunch,house viewing,"
           "swim training,book club,budget review,school play,haircut,eye test,language course,"
           "product demo").split(",")
_ITEMS = ("apples,milk,batteries,candles,soap,rice,pens,towels,nails,coffee,cups,envelopes,"
          "light bulbs,eggs,oranges,screws,plates,napkins,socks,notebooks").split(",")
_ROOMS = ("kitchen,bedroom,living room,bathroom,garage,office,hall,cellar,attic,nursery,guest room,"
          "workshop").split(",")
_LANGUAGES = ("French,Spanish,Arabic,Italian,Japanese,Polish,Swedish,Greek,Turkish,Hindi,Korean,"
              "Dutch,Czech,Finnish,Swahili,Danish").split(",")
_DISHES = ("pancakes,lentil soup,goulash,lasagne,curry,dumplings,risotto,apple pie,ramen,"
           "potato salad,waffles,onion tart,fish stew,burritos,cheesecake,paella").split(",")
_WORDS = ("oblique,lattice,fathom,harbinger,quorum,zenith,ledger,tundra,pivot,nimble,salient,"
          "vortex,candid,brisk,ember,gusto,keel,mirth,plinth,rivet").split(",")
_CURRENCIES = "EUR USD GBP CHF JPY SEK PLN CAD AUD NOK".split()
_UNITS = "miles kilometres pounds kilograms inches centimetres feet metres litres gallons".split()


def _text(rng: random.Random, words: Words) -> str:
    text = f"{pick(rng, _VERBS)} {pick(rng, _THINGS)}"
    if chance(rng, 0.3):
        text += f" to {words.first(rng)}"
    return text


def _of(values: list[str]) -> Callable[[random.Random, Words], str]:
    return lambda rng, words: pick(rng, values)


def _number(least: int, most: int) -> Callable[[random.Random, Words], int]:
    return lambda rng, words: between(rng, least, most)


# The values of a parameter, by the word after its colon in the table.
VALUES: dict[str, Callable[[random.Random, Words], Any]] = {
    "place": lambda rng, words: words.place(rng),
    "person": lambda rng, words: words.person(rng) if chance(rng, 0.5) else words.first(rng),
    "company": lambda rng, words: words.company(rng),
    "name": lambda rng, words: words.pet(rng),
    "text": _text,
    "date": lambda rng, words: (f"{between(rng, 2024, 2034)}-{between(rng, 1, 12):02}-"
                                f"{between(rng, 1, 28):02}"),
    "clock": lambda rng, words: f"{between(rng, 6, 22):02}:{pick(rng, ('00', '15', '30', '45'))}",
    "code": lambda rng, words: f"{pick(rng, 'ABCDEFGHKLMNPRSTXZ')}{pick(rng, 'ABCDEFGHKLMNPRSTXZ')}"
                               f"{between(rng, 1000, 9999)}",
    "degrees": _number(15, 28),
    "title": _of(_TITLES), "item": _of(_ITEMS), "room": _of(_ROOMS), "language": _of(_LANGUAGES),
    "dish": _of(_DISHES), "word": _of(_WORDS), "currency": _of(_CURRENCIES), "unit": _of(_UNITS),
    "few": _number(2, 9), "level": _number(1, 99), "amount": _number(5, 990),
    "state": _of(["on", "off"]), "priority": _of(["low", "normal", "high"]),
    "account": _of(["savings", "checking", "business"]),
    "mode": _of(["car", "bike", "train", "foot"]),
    "size": _of(["small", "medium", "large"]),
}
_ENUMS = {"currency": _CURRENCIES, "unit": _UNITS, "state": ["on", "off"],
          "priority": ["low", "normal", "high"], "account": ["savings", "checking", "business"],
          "mode": ["car", "bike", "train", "foot"], "size": ["small", "medium", "large"]}
_INTEGERS = ("few", "level", "amount", "degrees")


@dataclass(frozen=True)
class Tool:
    name: str
    group: str
    kinds: dict[str, str]  # what each parameter holds, in the parameters' order
    wordings: tuple[str, ...]
    offer: dict[str, Any]  # as an OpenAI request has it


def _schema(kind: str) -> dict[str, Any]:
    if kind in _INTEGERS:
        return {"type": "integer"}
    return {"type": "string", "enum": _ENUMS[kind]} if kind in _ENUMS else {"type": "string"}


def _tool(group: str, signature: str, description: str, *wordings: str) -> Tool:
    name, _, rest = signature.rstrip(")").partition("(")
    kinds = dict(part.split(":") for part in rest.split(", "))
    offer = {"type": "function", "function": {
        "name": name, "description": description,
        "parameters": {"type": "object",
                       "properties": {key: _schema(kind) for key, kind in kinds.items()},
                       "required": list(kinds)}}}
    return Tool(name, group, kinds, wordings, offer)


TOOLS = (
    _tool("weather", "get_weather(city:place)", "weather now",
          "tell me the weather in {city}", "check what the weather is like in {city}",
          "look up the current weather for {city}", "What is the weather in {city}?",
          "Is it raining in {city} right now?", "How warm is it in {city}?",
          "Do I need an umbrella in {city} now?"),
    _tool("weather", "get_forecast(city:place, days:few)", "weather of the next days",
          "give me the forecast for {city} for {days} days",
          "show the weather in {city} for the next {days} days",
          "get a {days} day forecast for {city}",
          "What will the weather be in {city} over {days} days?",
          "Will it rain in {city} in the next {days} days?",
          "I travel to {city} for {days} days, will it be sunny?"),
    _tool("weather", "get_time(city:place)", "local time of a city",
          "tell me the time in {city}", "look up the local time of {city}",
          "What time is it in {city}?", "How late is it in {city}?",
          "Is it night in {city} already?", "I need the clock time in {city}."),
    _tool("calendar", "set_alarm(time:clock)", "alarm at a time of day",
          "set an alarm for {time}", "wake me at {time}", "let the alarm ring at {time}",
          "I have to get up at {time}.", "Alarm at {time}.", "Do not let me sleep past {time}."),
    _tool("calendar", "set_timer(minutes:level)", "count down minutes",
          "set a timer for {minutes} minutes", "count down {minutes} minutes",
          "start a {minutes} minute timer", "Tell me when {minutes} minutes are over.",
          "Timer, {minutes} minutes.", "The cake needs {minutes} minutes, ring then."),
    _tool("calendar", "add_event(title:title, date:date, time:clock)", "new calendar entry",
          "add {title} to my calendar on {date} at {time}", "enter {title} on {date} at {time}",
          "schedule {title} for {date}, {time}", "put {title} in the calendar for {time} on {date}",
          "I have {title} on {date} at {time}.",
          "{date}, {time}: {title}. Note it in the calendar."),
    _tool("calendar", "list_events(date:date)", "calendar entries of a day",
          "show my calendar for {date}", "list my appointments on {date}",
          "read me the entries of {date}", "What do I have to do on {date}?",
          "Am I busy on {date}?", "Which meetings are there on {date}?"),
    _tool("calendar", "cancel_event(title:title, date:date)", "remove a calendar entry",
          "cancel {title} on {date}", "remove {title} from my calendar on {date}",
          "delete the entry {title} of {date}", "{title} on {date} will not take place, cancel it.",
          "I cannot come to {title} on {date}, take it out.", "Drop {title} on {date}."),
    _tool("calendar", "set_reminder(text:text, date:date)", "remind on a day",
          "remind me on {date} to {text}", "set a reminder for {date}: {text}",
          "make sure I do not forget to {text} on {date}", "On {date} I must {text}, remind me.",
          "Reminder for {date}: {text}", "I always forget to {text}, remind me on {date}."),
    _tool("people", "send_message(to:person, text:text)", "short message to a person",
          "send {to} a message: {text}", "write to {to}: {text}", "text {to} to {text}",
          "tell {to} to {text}", "Message for {to}: {text}", "{to} should {text}, send a message."),
    _tool("people", "send_email(to:person, subject:title)", "e-mail to a person",
          "send an e-mail to {to} about {subject}",
          "write an e-mail to {to} with the subject {subject}", "mail {to} about {subject}",
          "I want to e-mail {to} about {subject}.", "E-mail to {to}, subject {subject}.",
          "{to} must get an e-mail about {subject}."),
    _tool("people", "call_contact(name:person)", "phone a person",
          "call {name}", "phone {name}", "ring up {name}", "put me through to {name}",
          "I want to talk to {name} on the phone.", "Get {name} on the line."),
    _tool("people", "find_contact(name:person)", "number and address of a person",
          "find the phone number of {name}", "look up the address of {name}",
          "search my contacts for {name}", "What is the number of {name}?",
          "Where does {name} live?", "Do I have a contact named {name}?"),
    _tool("people", "share_file(file:name, with:person)", "give a person access to a file",
          "share the file {file} with {with}", "give {with} access to the file {file}",
          "let {with} open the file {file}", "{with} needs the file {file}.",
          "The file {file} is for {with}, share it.",
          "{with} should be able to read the file {file}."),
    _tool("travel", "book_flight(origin:place, destination:place, date:date)", "plane ticket",
          "book a flight from {origin} to {destination} on {date}",
          "get me a plane ticket from {origin} to {destination} for {date}",
          "reserve a flight on {date} from {origin} to {destination}",
          "I want to fly from {origin} to {destination} on {date}.",
          "Flight {origin} to {destination}, {date}.",
          "On {date} I fly from {origin} to {destination}."),
    _tool("travel", "find_train(origin:place, destination:place)", "train times",
          "find a train from {origin} to {destination}",
          "look up trains from {origin} to {destination}",
          "check the train times from {origin} to {destination}",
          "When does the next train go from {origin} to {destination}?",
          "Is there a train from {origin} to {destination}?", "Trains {origin} to {destination}?"),
    _tool("travel", "find_route(origin:place, destination:place, mode:mode)",
          "way between two places", "find the way from {origin} to {destination} by {mode}",
          "show me the route from {origin} to {destination} by {mode}",
          "plan a route by {mode} from {origin} to {destination}",
          "How do I get from {origin} to {destination} by {mode}?",
          "How long is it from {origin} to {destination} by {mode}?",
          "I want to go by {mode} from {origin} to {destination}, which way?"),
    _tool("travel", "book_hotel(city:place, nights:few, guests:few)", "hotel room",
          "book a hotel in {city} for {nights} nights and {guests} guests",
          "reserve a room in {city} for {guests} guests, {nights} nights",
          "find us a hotel in {city}, {nights} nights, {guests} people",
          "We are {guests} people and stay {nights} nights in {city}, book a room.",
          "Hotel in {city}: {nights} nights, {guests} guests.",
          "I need beds for {guests} guests in {city} for {nights} nights."),
    _tool("travel", "book_table(restaurant:company, people:few, time:clock)", "restaurant table",
          "book a table for {people} at {restaurant} at {time}",
          "reserve a table at {restaurant} for {people} people at {time}",
          "get us {people} seats at {restaurant} for {time}",
          "We are {people} and want to eat at {restaurant} at {time}.",
          "Table at {restaurant}, {time}, {people} people.",
          "Dinner for {people} at {restaurant}, {time}, book it."),
    _tool("travel", "call_taxi(from:place, to:place)", "taxi ride",
          "call a taxi from {from} to {to}", "order a cab from {from} to {to}",
          "get me a taxi to {to} from {from}", "I need a taxi from {from} to {to}.",
          "Taxi {from} to {to}.", "A cab should take me from {from} to {to}."),
    _tool("money", "convert_currency(amount:amount, from:currency, to:currency)", "exchange money",
          "convert {amount} {from} to {to}", "change {amount} {from} into {to}",
          "work out {amount} {from} in {to}", "How much is {amount} {from} in {to}?",
          "What are {amount} {from} worth in {to}?", "I have {amount} {from} and need {to}."),
    _tool("money", "convert_units(value:amount, from:unit, to:unit)", "other units of measure",
          "convert {value} {from} to {to}", "express {value} {from} in {to}",
          "turn {value} {from} into {to}", "How many {to} are {value} {from}?",
          "What is {value} {from} in {to}?", "{value} {from} in {to}?"),
    _tool("money", "transfer_money(to:person, amount:amount)", "pay a person",
          "transfer {amount} euros to {to}", "send {to} {amount} euros",
          "pay {amount} euros to {to}", "I owe {to} {amount} euros, pay them.",
          "{to} gets {amount} euros from me.", "Payment to {to}: {amount} euros."),
    _tool("money", "get_balance(account:account)", "money on an account",
          "show the balance of my {account} account", "check my {account} account",
          "tell me how much is on the {account} account",
          "How much money is in my {account} account?",
          "Is there money left on the {account} account?",
          "What is the balance of the {account} account?"),
    _tool("money", "get_stock_price(company:company)", "price of a share",
          "get the stock price of {company}", "look up the shares of {company}",
          "tell me what a share of {company} costs", "What is {company} trading at?",
          "How is the stock of {company} doing?", "Price of a {company} share?"),
    _tool("money", "get_tip(amount:amount, percent:few)", "tip for a bill",
          "work out a tip of {percent} percent on {amount} euros",
          "calculate {percent} percent tip for a bill of {amount} euros",
          "add a {percent} percent tip to {amount} euros",
          "The bill is {amount} euros, how much is a {percent} percent tip?",
          "What tip is {percent} percent of {amount} euros?",
          "Tip {percent} percent, bill {amount} euros."),
    _tool("home", "switch_light(room:room, state:state)", "light of a room on or off",
          "turn {state} the light in the {room}", "switch the light in the {room} {state}",
          "turn the {room} lights {state}", "The light in the {room} should be {state}.",
          "{room} light {state}.", "Lights {state} in the {room}!"),
    _tool("home", "set_heating(room:room, degrees:degrees)", "temperature of a room",
          "set the heating in the {room} to {degrees} degrees",
          "make the {room} {degrees} degrees warm", "heat the {room} to {degrees} degrees",
          "I want {degrees} degrees in the {room}.", "The {room} should have {degrees} degrees.",
          "{degrees} degrees in the {room}."),
    _tool("home", "clean_room(room:room)", "start the vacuum robot",
          "clean the {room}", "vacuum the {room}", "send the robot to the {room}",
          "The {room} is dirty.", "There are crumbs all over the {room}.",
          "The floor of the {room} needs the vacuum."),
    _tool("home", "set_volume(level:level)", "how loud",
          "set the volume to {level}", "turn the sound to {level}", "make it volume {level}",
          "Volume {level}.", "I want the sound at {level} percent.",
          "The volume should be {level}."),
    _tool("home", "play_music(artist:person)", "music of an artist",
          "play music by {artist}", "put on some songs of {artist}", "start an album by {artist}",
          "I would like to hear {artist}.", "Some music of {artist}.",
          "I am in the mood for songs by {artist}."),
    _tool("shop", "add_to_cart(item:item, quantity:few)", "put goods in the cart",
          "put {quantity} {item} in the cart", "add {quantity} {item} to my basket",
          "order {quantity} packs of {item}", "We need {quantity} packs of {item}.",
          "{quantity} times {item}, into the cart.", "I would like to buy {quantity} {item}."),
    _tool("shop", "track_parcel(number:code)", "where a parcel is",
          "track parcel {number}", "find out where parcel {number} is",
          "follow the shipment {number}", "Where is my parcel {number}?",
          "When will the shipment {number} arrive?", "Has {number} been delivered?"),
    _tool("shop", "return_order(order:code)", "send goods back",
          "return order {order}", "send back order {order}", "start a return for {order}",
          "I want my money back for order {order}.", "Order {order} is broken, I send it back.",
          "I do not want to keep order {order}."),
    _tool("shop", "order_food(kind:dish, size:size)", "food to the door",
          "order a {size} portion of {kind}", "have {kind} delivered, {size}",
          "get me {kind} in {size} from the delivery", "I am hungry, {kind} please, {size}.",
          "One {size} {kind} to my door.", "Delivery: {kind}, {size}."),
    _tool("knowledge", "translate(text:text, language:language)", "say it in another language",
          "translate '{text}' into {language}", "say '{text}' in {language}",
          "put '{text}' into {language}", "How do you say '{text}' in {language}?",
          "What is '{text}' in {language}?", "{language} for '{text}'?"),
    _tool("knowledge", "define_word(word:word)", "meaning of a word",
          "define {word}", "explain the word {word}", "look up {word} in the dictionary",
          "What does {word} mean?", "What is the meaning of {word}?",
          "I do not know the word {word}."),
    _tool("knowledge", "find_recipe(dish:dish, people:few)", "how to cook a dish",
          "find a recipe of {dish} for {people} people", "show me how to cook {dish} for {people}",
          "look up {dish} for {people} in the cookbook",
          "How do I make {dish} for {people} people?", "I want to cook {dish} for {people} people.",
          "Recipe for {dish}, {people} people."),
    _tool("knowledge", "create_ticket(title:text, priority:priority)", "new task for the team",
          "open a ticket with {priority} priority: {title}",
          "create a {priority} priority ticket: {title}",
          "file a ticket, priority {priority}: {title}",
          "The team must {title}, priority {priority}.", "New ticket, {priority}: {title}",
          "Ticket for the team: {title}. Priority {priority}."),
    _tool("knowledge", "save_note(text:text)", "keep a note",
          "note down: {text}", "save a note: {text}", "write down that I should {text}",
          "Note: {text}", "Keep this in my notes: {text}", "For my notes: {text}"),
)
