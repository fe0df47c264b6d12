Pod::Spec.new do |spec|
  spec.name = 'Torchlet'
  spec.version = '0.1.0'
  spec.summary = 'On-device inference for PyTorch models, without PyTorch'
  spec.description = 'Loads TorchScript and Lite Interpreter files (.pt, .ptl) and gives the answers that PyTorch gives.'
  spec.homepage = 'https://example.org/torchlet'
  spec.license = { type: 'See LICENSE', file: '../../LICENSE' }
  spec.author = 'Torchlet'
  spec.source = { path: '.' }
  spec.platform = :ios, '13.0'
  spec.swift_version = '5.7'
  spec.source_files = 'Sources/**/*.{h,mm,swift}'
  spec.public_header_files = 'Sources/TorchletObjC/include/*.h'
  spec.vendored_frameworks = 'CTorchlet.xcframework'
  spec.libraries = 'z', 'c++'
  spec.pod_target_xcconfig = { 'CLANG_CXX_LANGUAGE_STANDARD' => 'c++20' }
end
