// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The parts of ``CurlConfiguration`` that loops need, read once when they start.
struct CurlSettings: Sendable {
  var engine: EngineSettings
  /// The options of requests and dials that bring none.
  var defaults: SharedOptions
  /// The environment's proxies when the engine was made.
  var environmentProxies: ProxyResolver
  /// Holds for every request, whatever its own options say.
  var trustJudge: (any ServerTrustJudge)?
  /// Bytes that one TLS connection may read in a turn of the loop, before others have theirs; each call counts as
  /// `CLASTRO_READ_BYTES` more.
  var tlsBytesPerTurn: Int
}
