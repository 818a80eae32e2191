// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
public import Lastro

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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

/// A request's wishes for the cache.
struct CacheUse: Sendable {
  var mode: CacheMode?
  var principal: String?

  init(_ use: (any Sendable)?) { self = use as? CacheUse ?? CacheUse() }

  private init() {}
}

extension CacheUse: TransportLayerUse {
  func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool {
    // All other modes let the server be asked, which is all that a stack without a cache can do.
    guard mode == .onlyStored, !(layers[.cache] is HTTPCache) else { return false }
    layers[.cache] = NoCache()
    return true
  }
}

/// The layer for requests that only a cache may answer, in a stack without a cache.
private struct NoCache: TransportLayer, Transport {
  func transport(over base: any Transport, for configuration: StackConfiguration) -> any Transport { self }

  func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    var facts = TransferFacts()
    facts.notes = [.init("cache", detail: "missing", text: "the stack has no cache")]
    return TransferResponse(head: HTTPResponse(status: .gatewayTimeout), body: ResponseBody(Data()), facts: facts)
  }

  func explain(_ request: TransferRequest) -> [FetchExplanation.Fact] {
    [.init("cache", "the stack has none, so that the answer is 504")]
  }
}

extension RequestOptions {
  /// How the request uses the stack's ``HTTPCache``. Default `nil`: as ``CacheMode/standard``.
  ///
  /// In a stack without a cache nothing is stored: ``CacheMode/onlyStored`` is answered 504, and with every other mode
  /// the server is asked.
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
