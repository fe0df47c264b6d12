// Errors of Torchlet as NSError. localizedDescription is the whole text: what happened, and where in the model's Python source.
#pragma once

#import "TorchletDefines.h"

NS_ASSUME_NONNULL_BEGIN

TORCHLET_EXTERN NSString* const TorchletErrorDomain;

// The codes of errors in TorchletErrorDomain: torchlet_status of torchlet/c_api.h.
typedef NS_ERROR_ENUM(TorchletErrorDomain, TorchletErrorCode){
    TorchletErrorInvalidArgument = 1,  // the caller passed something that cannot be right
    TorchletErrorFileFormat = 2,       // a file is damaged, hostile or of another kind
    TorchletErrorIO = 3,               // the operating system refused a file
    TorchletErrorNotFound = 4,         // no such method, attribute, ...
    TorchletErrorUnsupported = 5,      // valid, but Torchlet does not do it
    TorchletErrorRuntime = 6,          // the model itself failed while running
    TorchletErrorOutOfMemory = 7,
    TorchletErrorMemoryLimit = 8,  // beyond TorchOptions.memoryLimit
    TorchletErrorTimeLimit = 9,    // beyond TorchOptions.timeLimit
    TorchletErrorCancelled = 10,   // TorchModule.cancelled
    TorchletErrorInternal = 11,    // a bug in Torchlet
};

// In userInfo: what happened, without the places (NSString); ...
TORCHLET_EXTERN NSString* const TorchletErrorMessageKey;
// ... the places, innermost first, "model.py:57, in features.3.conv" (NSArray of NSString); ...
TORCHLET_EXTERN NSString* const TorchletErrorPlacesKey;
// ... and the class of an exception that the model raised, "builtins.ValueError" (NSString), if it raised one.
TORCHLET_EXTERN NSString* const TorchletErrorPythonClassKey;

NS_ASSUME_NONNULL_END
