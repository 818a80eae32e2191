// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A resource whose model is the body itself: what ``NetworkStack/fetch(_:)`` of an HTTP stack takes.
public typealias RawHTTPResource = HTTPResource<Data, any Error>

extension HTTPResource where Model == Data, APIError == any Error {
  /// Makes a raw resource.
  ///
  /// - Parameters:
  ///   - baseRequestMaking: makes the base request.
  ///   - errorDecoding: decodes the API's errors. Default: none are decoded.
  ///   - interceptors: interceptors, after those of the stack. Default none.
  ///   - retryActionPriority: default ``Retry/Action/mostPrioritary(_:_:)``.
  ///   - options: default: nothing set.
  public init(
    baseRequestMaking: BaseRequestMaking<ResourceRequest>,
    errorDecoding: ErrorDecoding<any Error, Data, ResourceResponse> = .dummy,
    interceptors: [any HTTPResourceInterceptor] = [],
    retryActionPriority: @escaping Retry.Action.CompareClosure = Retry.Action.mostPrioritary,
    options: RequestOptions = RequestOptions()
  ) {
    self.init(
      baseRequestMaking: baseRequestMaking, decoding: .raw, errorDecoding: errorDecoding,
      interceptors: interceptors, retryActionPriority: retryActionPriority, options: options)
  }

  /// Makes a raw resource out of a request.
  ///
  /// - Parameters:
  ///   - request: the base request of every attempt.
  ///   - interceptors: interceptors, after those of the stack. Default none.
  ///   - options: take precedence over those of the request, where set.
  public init(
    request: ResourceRequest, interceptors: [any HTTPResourceInterceptor] = [],
    options: RequestOptions = RequestOptions()
  ) {
    self.init(baseRequestMaking: .request(request), interceptors: interceptors, options: options)
  }

  /// Makes a raw resource out of an endpoint. Default: no interceptors of its own, and options in which nothing is set.
  public static func raw(
    _ endpoint: some HTTPResourceEndpoint, interceptors: [any HTTPResourceInterceptor] = [],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(baseRequestMaking: .endpoint(endpoint), interceptors: interceptors, options: options)
  }

  /// Makes a raw resource out of a request. Default: no interceptors of its own, and options in which nothing is set.
  public static func raw(
    _ request: ResourceRequest, interceptors: [any HTTPResourceInterceptor] = [],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(request: request, interceptors: interceptors, options: options)
  }
}

extension HTTPResource {
  /// The same resource without its decoding: the body as it is, API errors type-erased.
  public var raw: RawHTTPResource {
    RawHTTPResource(
      baseRequestMaking: baseRequestMaking,
      errorDecoding: errorDecoding.map { $0 as any Error }, interceptors: interceptors,
      retryActionPriority: retryActionPriority, options: options)
  }
}

/// The model decodings of HTTP resources, such as `HTTPModelDecoding<String>.text.map(\.count)`.
public typealias HTTPModelDecoding<T: Sendable> = ModelDecoding<T, Data, ResourceResponse>
