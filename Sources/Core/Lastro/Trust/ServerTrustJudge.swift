// SPDX-License-Identifier: Apache-2.0

/// Decides whether to trust a server that ordinary validation has accepted. ``ServerTrustEvaluator`` is Lastro's own
/// judge; implement this protocol for rules that pins cannot express.
///
/// A judge only restricts: it judges servers that validation has accepted, unless it is configured to replace
/// validation (``DialRequest/TLS/soleJudge``). The engine calls it once per handshake. A judged connection carries
/// requests for that host and port only, and it is replaced once ``revision`` changes. With a judge, TLS sessions are
/// not resumed, so that every handshake has a chain to judge.
///
/// The judge is called on the engine's thread and delays every transfer. It must not block, and should only compute.
public protocol ServerTrustJudge: AnyObject, Sendable {
  /// A number that identifies the current rules. When it changes, connections that were judged earlier accept no
  /// further requests: they close after their current transfers, and new connections are opened and judged. Thus any
  /// change, even in the policy of a single host, and any expiration of a policy empties the connection pools for all
  /// hosts, in all stacks that use this judge. It is read before every transfer, from any thread. Default 0, for rules
  /// that never change.
  var revision: UInt64 { get }

  /// Judges a server that OpenSSL has accepted. It is called on the engine's thread during the handshake, and must not
  /// block.
  ///
  /// - Returns: the verdict on a server that is trusted, such as ``TrustVerdict/validated``. ``TransferFacts/trust``
  ///   reports it.
  /// - Throws: ``TrustFailure`` if the server is not trusted. Nothing is sent; the fetch fails in the stage `trust` and
  ///   is never retried.
  func judge(_ trust: ServerTrust) throws(TrustFailure) -> TrustVerdict

  /// Decides whether a request may be sent to a host over plain `http`, where the server proves nothing. Default: it
  /// may, with the verdict ``TrustVerdict/plain``.
  ///
  /// - Throws: ``TrustFailure`` if it may not be sent.
  func judgePlaintext(host: HostName, port: Int) throws(TrustFailure) -> TrustVerdict

  /// Returns a short text about the requirements for a host, for `explain`. Default: a text that names the judge's
  /// type.
  func explanation(for host: HostName) -> String
}

extension ServerTrustJudge {
  /// The default revision, for rules that never change.
  public var revision: UInt64 { 0 }

  /// Accepts plain `http` by default.
  public func judgePlaintext(host: HostName, port: Int) throws(TrustFailure) -> TrustVerdict { .plain }

  /// Returns a text that names the judge's type.
  public func explanation(for host: HostName) -> String { "judged by \(Self.self)" }
}

/// The decision of a ``ServerTrustJudge`` as a value.
package typealias TrustDecision = Result<TrustVerdict, TrustFailure>

extension ServerTrustJudge {
  /// Returns the judgement of a server.
  package func decision(on trust: ServerTrust) -> TrustDecision {
    TrustDecision { () throws(TrustFailure) in try judge(trust) }
  }

  /// Returns the judgement of plain `http` to a host.
  package func decisionOnPlaintext(host: HostName, port: Int) -> TrustDecision {
    TrustDecision { () throws(TrustFailure) in try judgePlaintext(host: host, port: port) }
  }
}
