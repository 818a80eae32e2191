// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Makes the base request of a resource. Each attempt makes a new request, which interceptors then adapt.
public struct BaseRequestMaking<Request: Sendable>: Sendable {
  /// Makes the request, on the executor of the fetch (``NetworkStack``). An error that it throws is passed to the
  /// interceptors, which may recover or retry. If the deadline passes first, its task is cancelled and the attempt
  /// fails without waiting for it.
  public let make: @Sendable () async throws -> Request
  /// The synchronous form of `make`, if there is one.
  let makeAtOnce: (@Sendable () throws -> Request)?
  /// The request, if every attempt uses the same one. The pipeline then calls no closure, and sets no call ID for it.
  private(set) var constant: Request?
  /// Returns the base URL that the request is made from, if the stack's base URL may replace it.
  var base: (@Sendable () -> String)?

  /// Wraps a synchronous closure: `BaseRequestMaking { try ResourceRequest(url: url) }`.
  ///
  /// The closure runs on the call's own task, which is cheaper. Nothing can interrupt it.
  public init(make: @escaping @Sendable () throws -> Request) {
    makeAtOnce = make
    self.make = make
  }

  /// Wraps an asynchronous closure, such as one that waits for another call. It runs in a task of its own.
  @_disfavoredOverload
  public init(make: @escaping @Sendable () async throws -> Request) {
    makeAtOnce = nil
    self.make = make
  }

  /// Returns a copy that applies `change` to each request that is made.
  package func changing(_ change: @escaping @Sendable (inout Request) -> Void) -> Self {
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

  /// Returns a value that uses the same request for every attempt.
  public static func request(_ request: Request) -> Self {
    var making = Self { request }
    making.constant = request
    return making
  }
}

extension BaseRequestMaking where Request == ResourceRequest {
  /// Returns a value that makes the request of an endpoint.
  public static func endpoint(_ endpoint: some HTTPResourceEndpoint) -> Self {
    var making = Self { try endpoint.makeRequest() }
    making.base = { endpoint.baseURL.absoluteString }
    return making
  }
}
