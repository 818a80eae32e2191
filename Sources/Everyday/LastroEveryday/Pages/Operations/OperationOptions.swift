// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro

/// The options for polling an operation.
public struct OperationOptions: Sendable {
  /// The time limit of the whole wait, including the poll in progress. Default `nil`: none.
  public var total: Duration?
  /// Origins besides the request's at which operations may be; they then get the request's credentials. Default: none.
  public var origins: Set<Origin> = []
  /// The clock for waits. Default: the system's.
  public var timeSource: TimeSource = .continuous
  /// The source of the ±10 % jitter of waits that the server did not ask for. Default: the system's.
  public var randomSource: RandomSource = .system

  /// Creates the default options.
  public init() {}
}
