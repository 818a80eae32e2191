// SPDX-License-Identifier: Apache-2.0

public import Lastro

extension StackConfiguration {
  /// The cache between the stack and its transport. Default `nil`: none.
  ///
  /// ```swift
  /// var configuration = StackConfiguration()
  /// configuration.cache = HTTPCache()
  /// let stack = try CurlNetworkStack(configuration: configuration)
  /// ```
  ///
  /// Stacks that are made with the same one share what it keeps. They must reach the same servers by the same names,
  /// trust the same, and present the same client certificate: what one of them fetched answers the others.
  public var cache: HTTPCache? {
    get { layers[.cache] as? HTTPCache }
    set { layers[.cache] = newValue }
  }
}

extension HTTPCache: TransportLayer {
  package func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport {
    CachingTransport(over: base, self, time: configuration.timeSource)
  }
}

/// What a request asks of the cache.
struct CacheUse: Sendable {
  var mode: CacheMode?
  var principal: String?

  init(_ use: (any Sendable)?) { self = use as? CacheUse ?? CacheUse() }

  private init() {}
}

extension RequestOptions {
  /// How the request uses the stack's ``HTTPCache``. Default `nil`: as ``CacheMode/standard``.
  ///
  /// In a stack without a cache it says nothing.
  public var cache: CacheMode? {
    get { CacheUse(layerUses[.cache]).mode }
    set {
      var use = CacheUse(layerUses[.cache])
      use.mode = newValue
      layerUses[.cache] = use
    }
  }

  /// For whom the request is made: a name that stays, such as the number of an account. Default `nil`.
  ///
  /// Responses are stored for requests of the same name, and given to no other. Without it the credentials that the
  /// request carries take its place. An access token changes every hour, and what was stored under it is not found with
  /// the next one; a signature that names no key stores nothing. The store sees a digest of the name only.
  public var principal: String? {
    get { CacheUse(layerUses[.cache]).principal }
    set {
      var use = CacheUse(layerUses[.cache])
      use.principal = newValue
      layerUses[.cache] = use
    }
  }
}
