# What `cmake --install` puts where: see packaging/.
