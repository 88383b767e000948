"""Lines of work: their job titles and skills. Train and test share them.

No skill is part of another's name, nor of a title: "the profile names it" must have one meaning.
"""

DOMAINS: dict[str, tuple[list[str], list[str]]] = {}


def _domain(name: str, titles: str, skills: str) -> None:
    DOMAINS[name] = (titles.split(", "), skills.split(", "))


_domain("software",
        "backend developer, web developer, software engineer, platform engineer, mobile developer",
        "Python, TypeScript, Rust, Kotlin, Golang, Swift, Docker, Kubernetes, Linux, Git, React, "
        "GraphQL, Terraform, Redis, unit testing, code review")
_domain("data",
        "data analyst, data engineer, BI analyst, research analyst",
        "SQL, Spark, Tableau, Power BI, pandas, statistics, machine learning, data cleaning, "
        "Airflow, forecasting, Kafka, dashboards, A/B tests, data modelling")
_domain("finance",
        "accountant, controller, payroll clerk, financial analyst, auditor",
        "bookkeeping, IFRS, tax returns, Excel, SAP, budgeting, payroll runs, cost accounting, "
        "invoicing, cash flow planning, risk analysis, annual reports, debt collection")
_domain("nursing",
        "ward nurse, care assistant, clinic nurse, home care nurse",
        "wound care, triage, infusions, patient records, first aid, medication plans, blood "
        "sampling, dementia care, night shifts, hygiene rules, palliative care, vital signs, "
        "resuscitation")
_domain("logistics",
        "warehouse lead, dispatcher, supply planner, fleet manager",
        "forklift licence, route planning, customs papers, stock control, order picking, freight "
        "rates, load securing, cold chain, returns handling, barcode scanners, truck licence, WMS")
_domain("crafts",
        "carpenter, electrician, plumber, painter, metal worker",
        "arc welding, joinery, wiring, pipe fitting, plastering, tiling, CNC machines, reading "
        "plans, soldering, roof repair, varnishing, lathe work, insulation, heat pumps")
_domain("kitchen",
        "cook, pastry chef, kitchen lead, baker",
        "sauces, baking bread, HACCP, menu planning, knife work, grilling, puff dough, vegan "
        "dishes, stock ordering, food costing, plating, catering, allergen lists")
_domain("teaching",
        "teacher, tutor, trainer, school assistant",
        "lesson plans, grading, classroom rules, sign language, e-learning, parent talks, reading "
        "support, maths tutoring, special needs, school trips, workshop design, curriculum work")
_domain("sales",
        "sales clerk, account manager, shop lead, sales trainer",
        "negotiation, cold calls, CRM, price quotes, tender bids, key accounts, product demos, "
        "store displays, cash desk, complaints, trade fairs, upselling")
_domain("office",
        "office manager, secretary, project assistant, receptionist",
        "minutes, travel booking, record keeping, typing, phone service, calendar care, event "
        "planning, PowerPoint, scheduling, proofreading, archive work, visitor desk")
_domain("design",
        "graphic designer, illustrator, UX designer, media designer",
        "Figma, Photoshop, typography, wireframes, user interviews, icon sets, photo editing, "
        "colour theory, print layout, animation, sculpting, video cutting, brand guides")
_domain("farming",
        "gardener, farm worker, forester, vineyard worker",
        "pruning, irrigation, tractor driving, soil tests, chainsaw work, beekeeping, harvest "
        "planning, pest control, greenhouse work, milking, fencing, seed selection, composting")
_domain("law",
        "paralegal, legal clerk, contract manager, notary assistant",
        "contract drafting, case research, GDPR, court filing, labour law, patents, due "
        "diligence, legal English, compliance checks, company law, deed registers")
_domain("mechanics",
        "car mechanic, machine fitter, service technician, plant operator",
        "engine repair, brakes, hydraulics, fault finding, PLC, pneumatics, gearboxes, welding "
        "robots, maintenance plans, measuring tools, vehicle checks, spare parts, bearings")

SKILLS: list[str] = [skill for _, skills in DOMAINS.values() for skill in skills]
