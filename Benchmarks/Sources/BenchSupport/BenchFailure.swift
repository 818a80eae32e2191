// SPDX-License-Identifier: Apache-2.0

/// Why a benchmark gives no number.
public enum BenchFailure: Error, CustomStringConvertible {
  /// Something went wrong, or an answer was not as expected. Exit status 1.
  case failed(String)
  /// The client has no such scenario. Exit status 3.
  case unsupported(String)

  /// The reason.
  public var description: String {
    switch self {
    case .failed(let reason), .unsupported(let reason): reason
    }
  }

  /// Exit status of the program.
  var status: Int32 {
    switch self {
    case .failed: 1
    case .unsupported: 3
    }
  }
}
