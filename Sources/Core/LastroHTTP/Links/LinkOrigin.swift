// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The dial of a stream and its trust rules, which are checked again before every request.
struct LinkOrigin: Sendable {
  private let dialer: any Dialer
  private let request: DialRequest
  /// Taken before the dial, so that a change meanwhile is not missed.
  private let revisions: [UInt64]

  init(_ dialer: any Dialer, _ request: DialRequest) {
    self.dialer = dialer
    self.request = request
    revisions = dialer.trustRevisions(for: request)
  }

  /// Whether the dialer's rules are those that the stream was dialed under.
  var isCurrent: Bool { dialer.trustRevisions(for: request) == revisions }

  /// Decides whether a request may go out on the stream.
  ///
  /// - Parameter verdict: that of the dial.
  func admit(_ verdict: TrustVerdict) -> LinkAdmission {
    guard isCurrent else { return .outdated }
    guard request.tls == nil else { return .admitted(verdict) }
    do throws(TransportError) {
      try dialer.checkPlaintext(request)
      return .admitted(verdict)
    } catch {
      return .refused(error)
    }
  }
}
