// Torchlet for Objective-C: all of it.
#pragma once

#import "TorchError.h"
#import "TorchImage.h"
#import "TorchModule.h"
#import "TorchTensor.h"
