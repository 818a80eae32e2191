// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Makes the base request of a resource, anew for every attempt, before interceptors adapt it.
public struct BaseRequestMaking<Request: Sendable>: Sendable {
  /// Makes the request, where the fetch runs (``NetworkStack``). What it throws is told to interceptors, who may
  /// recover or retry. When the deadline passes meanwhile, its task is cancelled, and the call goes on without it.
  public let make: @Sendable () async throws -> Request
  /// The same where it waits for nothing.
  let makeAtOnce: (@Sendable () throws -> Request)?
  /// The request where it is the same every time: nothing runs that might ask for its call.
  private(set) var constant: Request?
  /// The base URL that it makes the request of, where that of a stack may take its place.
  var base: (@Sendable () -> String)?

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

  /// The same, with a change to each request that is made.
  func changing(_ change: @escaping @Sendable (inout Request) -> Void) -> Self {
    @Sendable func changed(_ request: Request) -> Request {
      var request = request
      change(&request)
      return request
    }
    let make = make
    var result =
      if let makeAtOnce { Self { changed(try makeAtOnce()) } } else { Self { changed(try await make()) } }
    result.base = base
    return result
  }

  /// Returns the making of the same request every time.
  public static func request(_ request: Request) -> Self {
    var making = Self { request }
    making.constant = request
    return making
  }
}

extension BaseRequestMaking where Request == ResourceRequest {
  /// The request of an endpoint.
  public static func endpoint(_ endpoint: some HTTPResourceEndpoint) -> Self {
    var making = Self { try endpoint.makeRequest() }
    making.base = { endpoint.baseURL.absoluteString }
    return making
  }
}
