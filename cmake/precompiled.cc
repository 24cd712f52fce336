// The precompiled headers (Splitnic.cmake) need a source to be compiled with; it has nothing of its own.
