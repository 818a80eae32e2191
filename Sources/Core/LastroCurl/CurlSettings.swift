// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The parts of ``CurlConfiguration`` that loops need, read once when they start.
struct CurlSettings: Sendable {
  var engine: EngineSettings
  /// The options of requests and dials that have no options of their own.
  var defaults: SharedOptions
  /// The proxies of the environment at the time when the engine was created.
  var environmentProxies: ProxyResolver
  /// The number of bytes that one TLS connection may read per turn of the loop, so that others get their share. Each
  /// call counts as `CLASTRO_READ_BYTES` more.
  var tlsBytesPerTurn: Int

  /// The judge for every request, in addition to the judge in the request's options.
  var trustJudge: (any ServerTrustJudge)? { defaults.options.tls.trustJudge }
}
