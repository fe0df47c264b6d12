// Torchlet in Swift: TorchModule, TorchTensor, TorchTuple and TorchOptions as Objective-C has them, whose errors Swift throws as
// TorchletError, and what is shorter in Swift.
//
//   let model = try TorchModule(fileAtPath: path, options: nil)
//   let scores = try model.tensor(from: TorchTensor(pixels, shape: [1, 3, 224, 224])).floats()
#if SWIFT_PACKAGE
@_exported import TorchletObjC
#endif
import Foundation

extension TorchTensor {
  /// A float32 tensor of a copy of the numbers.
  public convenience init(_ numbers: [Float], shape: [Int]) throws {
    let data = numbers.withUnsafeBytes { Data($0) }
    try self.init(
      data: data, dtype: .float32, shape: shape.map { NSNumber(value: $0) }, format: .contiguous)
  }

  /// The elements as floats, the last dimension fastest.
  public func floats() throws -> [Float] {
    let data = try floatData()
    return data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }

  public var sizes: [Int] { shape.map { $0.intValue } }
}

extension TorchModule {
  /// Runs forward() for an answer that is one tensor.
  public func tensor(from inputs: Any...) throws -> TorchTensor {
    try answer(forward(inputs))
  }

  /// Runs forward() for a dict of tensors, as segmentation models give it.
  public func tensors(from inputs: Any...) throws -> [String: TorchTensor] {
    try answer(forward(inputs))
  }

  private func answer<Answer>(_ value: Any) throws -> Answer {
    if let answer = value as? Answer { return answer }
    throw TorchletError(
      .unsupported,
      userInfo: [
        NSLocalizedDescriptionKey: "the model gives a \(type(of: value)), not a \(Answer.self)"
      ])
  }
}

extension TorchletError {
  /// Where in the model's Python source, innermost first: "model.py:57, in features.3.conv".
  public var places: [String] { userInfo[TorchletErrorPlacesKey] as? [String] ?? [] }
  /// "builtins.ValueError", if the model raised an exception.
  public var pythonClass: String? { userInfo[TorchletErrorPythonClassKey] as? String }
}
