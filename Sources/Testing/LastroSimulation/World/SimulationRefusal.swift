// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The reason why a simulation does not run, or does not continue.
enum SimulationRefusal: Error {
  case busy
  case linkedStatically
  case foreignThread

  var error: ConfigurationError {
    switch self {
    case .busy:
      ConfigurationError(
        "another simulation runs in this process", hint: "run one simulation at a time, from outside of any other")
    case .linkedStatically:
      ConfigurationError(
        "the simulation cannot replace the functions of a statically linked libdispatch",
        hint: "build the tests without --static-swift-stdlib")
    case .foreignThread:
      ConfigurationError(
        "a thread outside of the simulation has resumed one of its tasks, so that runs would differ",
        hint: "replace threads, queues and executors of your own by tasks, or by a fake, in the simulated code")
    }
  }
}
