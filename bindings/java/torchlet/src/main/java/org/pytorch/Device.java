package org.pytorch;

/** What runs a model. {@link org.torchlet.Options#devices} names more. */
public enum Device {
  /** The processor. */
  CPU("cpu"),
  /** Torchlet does not have it: loading a model for it is an error that says so. */
  VULKAN("vulkan"),
  /** The accelerators behind Android's NNAPI, and the processor for what they do not take. */
  NNAPI("nnapi,cpu");

  /** The list for {@link org.torchlet.Options#devices}. */
  final String names;

  Device(String names) {
    this.names = names;
  }
}
