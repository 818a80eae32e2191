// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
internal import HTTPTypes
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
  /// Stacks configured with the same cache share its stored responses. They must reach the same servers by the same
  /// names, have the same trust settings, and present the same client certificate, because a response that one of them
  /// fetched answers the others.
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

/// The cache options of a request.
struct CacheUse: Sendable {
  var mode: CacheMode?
  var principal: String?

  init(_ use: (any Sendable)?) { self = use as? CacheUse ?? CacheUse() }

  private init() {}
}

extension CacheUse: TransportLayerUse {
  func complete(_ layers: inout ByLayerPlace<any TransportLayer>) -> Bool {
    // Every other mode permits asking the server, which is all that a stack without a cache can do.
    guard mode == .onlyStored, !(layers[.cache] is HTTPCache) else { return false }
    layers[.cache] = NoCache()
    return true
  }
}

/// A layer for requests that only a cache may answer, in a stack without a cache.
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
  /// The way in which the request uses the stack's ``HTTPCache``. Default `nil`: the same as ``CacheMode/standard``.
  ///
  /// A stack without a cache stores nothing: it answers ``CacheMode/onlyStored`` with 504, and sends the request to the
  /// server in every other mode.
  public var cache: CacheMode? {
    get { CacheUse(layerUses[.cache]).mode }
    set {
      var use = CacheUse(layerUses[.cache])
      use.mode = newValue
      layerUses[.cache] = use
    }
  }

  /// The principal for whom the request is made: a stable name, such as an account number. Default `nil`.
  ///
  /// Responses are stored for requests with the same name, and never given to others. Without a name, the request's
  /// credentials take its place. An access token changes regularly, say every hour, and responses stored under it are
  /// not found with the next one; a response to a request whose signature names no key is not stored. The store sees
  /// only a digest of the name.
  public var principal: String? {
    get { CacheUse(layerUses[.cache]).principal }
    set {
      var use = CacheUse(layerUses[.cache])
      use.principal = newValue
      layerUses[.cache] = use
    }
  }
}
