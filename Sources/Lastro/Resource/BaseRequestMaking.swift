// SPDX-License-Identifier: Apache-2.0

/// Makes the base request of a resource, anew for every attempt, before interceptors adapt it.
public struct BaseRequestMaking<Request: Sendable>: Sendable {
  /// Makes the request, on the concurrent pool. What it throws is told to interceptors, who may recover or retry. It
  /// sees cancellation as any task does. When the deadline passes meanwhile, its task is cancelled and the call goes on
  /// without it.
  public let make: @Sendable () async throws -> Request
  /// The same where it waits for nothing.
  let makeAtOnce: (@Sendable () throws -> Request)?

  /// Wraps a closure that waits for nothing: `BaseRequestMaking { try ResourceRequest(url: url) }`.
  ///
  /// It runs on the call's own task, which is cheaper, and nothing interrupts it.
  public init(make: @escaping @Sendable () throws -> Request) {
    makeAtOnce = make
    self.make = make
  }

  /// Wraps a closure that may wait, such as for what another call gets. It runs in a task of its own.
  @_disfavoredOverload
  public init(make: @escaping @Sendable () async throws -> Request) {
    makeAtOnce = nil
    self.make = make
  }

  /// The same request every time.
  public static func request(_ request: Request) -> Self { Self { request } }
}

extension BaseRequestMaking where Request == ResourceRequest {
  /// The request of an endpoint.
  public static func endpoint(_ endpoint: some HTTPResourceEndpoint) -> Self {
    Self { try endpoint.makeRequest() }
  }
}
