// SPDX-License-Identifier: Apache-2.0

/// One HTTP client, as the driver sees it. `@main` on it makes the program.
public protocol BenchClient: Sendable {
  /// One request from start to end; called again and again, by many tasks at the same time.
  typealias Exchange = @Sendable () async throws -> Answer

  /// Stands in the results.
  static var name: String { get }

  /// Makes the client with the settings that its documentation recommends for the scenario.
  ///
  /// - Throws: ``BenchFailure/unsupported(_:)`` for a scenario that the client has not.
  init(_ arguments: Arguments) throws

  /// Makes what does one request of a scenario. Whatever a user would prepare once is prepared here.
  ///
  /// - Parameters:
  ///   - kind: never ``Scenario/idle`` and ``Scenario/cancel``, which are done with exchanges of ``Scenario/fetch``.
  ///   - url: where the request goes.
  /// - Throws: ``BenchFailure/unsupported(_:)`` for a scenario that the client has not.
  func exchange(_ kind: Scenario, url: String) throws -> Exchange

  /// Where the tasks run that fetch; `nil`: on Swift's own threads.
  var executor: (any TaskExecutor)? { get }

  /// Whether an exchange ended because its task was cancelled.
  static func isCancellation(_ error: any Error) -> Bool

  /// Ends the client, so that its threads do not outlive what they use.
  func shutDown() async throws
}

extension BenchClient {
  /// None of their own.
  public var executor: (any TaskExecutor)? { nil }
}
