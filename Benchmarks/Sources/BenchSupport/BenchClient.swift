// SPDX-License-Identifier: Apache-2.0

/// An HTTP client that the driver measures. `@main` on a conforming type makes it a program.
public protocol BenchClient: Sendable {
  /// A function that performs one complete request. Many tasks call it repeatedly and at the same time.
  typealias Exchange = @Sendable () async throws -> Answer

  /// The name of the client in the results.
  static var name: String { get }

  /// Makes the client with the settings that its documentation recommends for the scenario.
  ///
  /// - Throws: ``BenchFailure/unsupported(_:)`` for a scenario that the client does not support.
  init(_ arguments: Arguments) throws

  /// Returns a function that performs one request of a scenario. Work that a user would do only once is done here.
  ///
  /// - Parameters:
  ///   - kind: the scenario. Never ``Scenario/idle`` or ``Scenario/cancel``, which use exchanges of ``Scenario/fetch``.
  ///   - url: the URL of the request.
  /// - Throws: ``BenchFailure/unsupported(_:)`` for a scenario that the client does not support.
  func exchange(_ kind: Scenario, url: String) throws -> Exchange

  /// The executor of the tasks that fetch; `nil` for Swift's default executor.
  var executor: (any TaskExecutor)? { get }

  /// Whether an exchange ended because its task was cancelled.
  static func isCancellation(_ error: any Error) -> Bool

  /// Shuts down the client, so that its threads do not outlive the objects that they use.
  func shutDown() async throws
}

extension BenchClient {
  /// The default executor of Swift.
  public var executor: (any TaskExecutor)? { nil }
}
