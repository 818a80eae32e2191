// SPDX-License-Identifier: Apache-2.0

/// Makes the base request of a resource, anew for every attempt, before interceptors adapt it.
public struct BaseRequestMaking<Request: Sendable>: Sendable {
  /// Makes the request, on the concurrent pool. What it throws is told to interceptors, who may recover or retry. It sees
  /// cancellation as any task does. When the deadline passes meanwhile, its task is cancelled and the call goes on without
  /// it.
  public let make: @Sendable () async throws -> Request
  /// Whether it may wait for something.
  let waits: Bool

  /// Wraps a closure.
  public init(make: @escaping @Sendable () async throws -> Request) { self.init(waits: true, make) }

  private init(waits: Bool, _ make: @escaping @Sendable () async throws -> Request) {
    self.waits = waits
    self.make = make
  }

  /// Makes it without a wait.
  package static func prompt(_ make: @escaping @Sendable () throws -> Request) -> Self { Self(waits: false, make) }

  /// The same request every time.
  public static func request(_ request: Request) -> Self { .prompt { request } }
}

extension BaseRequestMaking where Request == ResourceRequest {
  /// The request of an endpoint.
  public static func endpoint(_ endpoint: some HTTPResourceEndpoint) -> Self {
    .prompt { try endpoint.makeRequest() }
  }
}
