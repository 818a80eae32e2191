// SPDX-License-Identifier: Apache-2.0

/// Makes the base request of a resource, anew for every attempt, before interceptors adapt it.
public struct BaseRequestMaking<Request: Sendable>: Sendable {
  /// Makes the request, on the concurrent pool. What it throws is told to interceptors, who may recover or retry. It sees
  /// cancellation as any task does; a deadline that passes meanwhile is noticed when it returns.
  public let make: @Sendable () async throws -> Request

  /// Wraps a closure.
  public init(make: @escaping @Sendable () async throws -> Request) { self.make = make }

  /// The same request every time.
  public static func request(_ request: Request) -> Self { Self { request } }
}

extension BaseRequestMaking where Request == ResourceRequest {
  /// The request of an endpoint.
  public static func endpoint(_ endpoint: some HTTPResourceEndpoint) -> Self {
    Self { try endpoint.makeRequest() }
  }
}
