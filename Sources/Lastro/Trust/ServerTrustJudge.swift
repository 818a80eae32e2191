// SPDX-License-Identifier: Apache-2.0

/// Decides whether a server that ordinary validation accepted may be talked to. ``ServerTrustEvaluator`` is the judge
/// that Lastro has; write another for rules that pins cannot express.
///
/// A judge only narrows: it is asked about what validation accepted, but where it stands in the place of validation
/// (``DialRequest/CertificateCheck``). The engine asks it once a handshake; a connection carries requests for that host
/// and port alone, and under another ``revision`` new ones are made. TLS sessions are not resumed where there is a
/// judge, so that there always is a chain to judge.
///
/// It is asked on the engine's thread, where it holds up every transfer: it must not block, and no more than compute.
public protocol ServerTrustJudge: AnyObject, Sendable {
  /// Names the rules in force. When it changes, connections judged before serve no further request: they end with the
  /// transfers that they have, and new ones are made and judged. So every change, be it of one host's policy, and every
  /// expiration of one, empties the connection pools of all hosts of the stacks that have this judge. Read before every
  /// transfer, from any thread. Default 0, for rules that never change.
  var revision: UInt64 { get }

  /// Accepts or refuses a server that OpenSSL has accepted. On the engine's thread, within the handshake: it must not
  /// block.
  func judge(_ trust: ServerTrust) -> TrustDecision

  /// Decides whether a host may be talked to over plain `http`, where the server proves nothing. Default: it may.
  func judgePlaintext(host: HostName, port: Int) -> TrustDecision

  /// What it would demand of a host, in a few words, for `explain`. Default: that there is a judge.
  func explanation(for host: HostName) -> String
}

extension ServerTrustJudge {
  /// The default: rules that never change.
  public var revision: UInt64 { 0 }

  /// The default: plain `http` is allowed.
  public func judgePlaintext(host: HostName, port: Int) -> TrustDecision { .accepted(.plain) }

  /// The default: names the judge's type.
  public func explanation(for host: HostName) -> String { "judged by \(Self.self)" }
}

/// What a ``ServerTrustJudge`` decides.
@frozen
public enum TrustDecision: Sendable, Hashable {
  /// The server may be talked to. The word stands in ``TransferFacts/trust``.
  case accepted(TrustVerdict)
  /// It may not, and nothing is sent. The failure ends the fetch with stage `trust`, and is never retried.
  case refused(TrustFailure)
}
