// The precompiled headers (Splitnic.cmake) need a source to be compiled with; it contains nothing
// else.
