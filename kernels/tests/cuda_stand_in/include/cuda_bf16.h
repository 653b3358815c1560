#include "numbers.hpp"
