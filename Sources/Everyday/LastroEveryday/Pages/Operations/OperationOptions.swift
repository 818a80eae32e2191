// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro

/// The options for polling an operation.
public struct OperationOptions: Sendable {
  /// The first wait if the server names none. Default 1 s; each further wait is half as long again.
  public var firstInterval: Duration = .seconds(1)
  /// The maximum of these waits. Default 30 s.
  public var maximumInterval: Duration = .seconds(30)
  /// The maximum wait that the server or the caller's closure may ask for; a longer one is shortened to it. Default 5
  /// min.
  public var maximumAskedInterval: Duration = .seconds(300)
  /// The time during which a 404 means that the operation is not visible yet. Default 2 s, counted from
  /// ``OperationHandle/acceptedAt``, or from the beginning of the wait if that is unknown.
  public var grace: Duration = .seconds(2)
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
