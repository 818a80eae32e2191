// SPDX-License-Identifier: Apache-2.0

/// An error that says why a benchmark has no result.
public enum BenchFailure: Error, CustomStringConvertible {
  /// The run failed, or a response was not as expected. Exit status 1.
  case failed(String)
  /// The client does not support the scenario. Exit status 3.
  case unsupported(String)

  /// The reason of the failure.
  public var description: String {
    switch self {
    case .failed(let reason), .unsupported(let reason): reason
    }
  }

  /// The exit status of the program.
  var status: Int32 {
    switch self {
    case .failed: 1
    case .unsupported: 3
    }
  }
}
