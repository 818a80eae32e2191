// SPDX-License-Identifier: Apache-2.0

public import Lastro

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a status answer says of an operation.
public enum OperationState<Value: Sendable>: Sendable {
  /// It is not done. Asked again after so long; `nil`: as the answer's `Retry-After` has it, else after a wait that
  /// grows.
  case running(after: Duration? = nil)
  /// It is done, with this.
  case done(Value)
  /// It has failed, for this reason, which is thrown.
  case failed(any Error)
}

/// What became of a request that may take long.
public enum OperationStart: Sendable {
  /// The server works on it.
  case running(OperationHandle)
  /// It was done at once: the answer's body.
  case done(Data, ResourceResponse)
}

/// How an operation is asked for.
public struct OperationOptions: Sendable {
  /// The first wait where the server names none. Default 1 s; each further one is half as long again.
  public var firstInterval: Duration = .seconds(1)
  /// The longest of these waits. Default 30 s.
  public var maximumInterval: Duration = .seconds(30)
  /// Longest wait that a server or the caller's closure may ask for; more is cut to this. Default 5 min.
  public var maximumAskedInterval: Duration = .seconds(300)
  /// How long a 404 is taken for an operation that is not visible yet. Default 2 s, from
  /// ``OperationHandle/acceptedAt``; where that is not known, from the beginning of the wait.
  public var grace: Duration = .seconds(2)
  /// The time limit of the whole wait, the question that runs included. Default `nil`: none.
  public var total: Duration?
  /// Origins at which operations may be beside that of their request, which then get its credentials. Default: none.
  public var origins: Set<Origin> = []
  /// Measures waits. Default: the system's clock.
  public var timeSource: TimeSource = .continuous
  /// Spreads waits that the server did not ask for by ±10 %. Default: the system's.
  public var randomSource: RandomSource = .system

  /// Makes the default options.
  public init() {}
}
