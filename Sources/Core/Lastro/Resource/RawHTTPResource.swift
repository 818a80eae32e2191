// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// A resource whose model is the body itself. ``NetworkStack/fetch(_:)`` of an HTTP stack accepts it.
public typealias RawHTTPResource = HTTPResource<Data, any Error>

extension HTTPResource where Model == Data, APIError == any Error {
  /// Makes a raw resource.
  ///
  /// - Parameters:
  ///   - baseRequestMaking: the maker of the base request.
  ///   - errorDecoding: the decoding of the API's errors. Default: none are decoded.
  ///   - interceptors: interceptors that run after those of the stack. Default none.
  ///   - retryActionPriority: the function that decides which action prevails. Default
  ///     ``Retry/Action/mostPrioritary(_:_:)``.
  ///   - options: the resource's options. Default: nothing set.
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

  /// Returns a raw resource that is made from an endpoint. Default: no interceptors of its own, and no options set.
  public static func raw(
    _ endpoint: some HTTPResourceEndpoint, interceptors: [any HTTPResourceInterceptor] = [],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(baseRequestMaking: .endpoint(endpoint), interceptors: interceptors, options: options)
  }

  /// Returns a raw resource that is made from a request, which is the base request of every attempt. Default: no
  /// interceptors of its own, and no options set. Options that are set take precedence over those of the request.
  public static func raw(
    _ request: ResourceRequest, interceptors: [any HTTPResourceInterceptor] = [],
    options: RequestOptions = RequestOptions()
  ) -> Self {
    Self(baseRequestMaking: .request(request), interceptors: interceptors, options: options)
  }
}

extension HTTPResource {
  /// The same resource without its decoding. The model is the undecoded body, and the API's errors are type-erased.
  public var raw: RawHTTPResource {
    RawHTTPResource(
      baseRequestMaking: baseRequestMaking,
      errorDecoding: errorDecoding.map { $0 as any Error }, interceptors: interceptors,
      retryActionPriority: retryActionPriority, options: options)
  }
}

/// A model decoding for HTTP resources, such as `HTTPModelDecoding<String>.text.map(\.count)`.
package typealias HTTPModelDecoding<T: Sendable> = ModelDecoding<T, Data, ResourceResponse>
