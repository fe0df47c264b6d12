// Torchlet for Objective-C: all of it.
#pragma once

#import "TorchError.h"
#import "TorchModule.h"
#import "TorchTensor.h"
