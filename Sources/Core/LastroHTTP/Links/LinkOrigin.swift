// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The dialer and the request of a stream, and its trust rules, which are checked again before every request.
package struct LinkOrigin: Sendable {
  private let dialer: any Dialer
  private let request: DialRequest
  /// The revisions of the trust rules. They are read before the dial, so that a change during the dial is detected.
  private let revisions: [UInt64]

  package init(_ dialer: any Dialer, _ request: DialRequest) {
    self.dialer = dialer
    self.request = request
    revisions = dialer.trustRevisions(for: request)
  }

  /// Whether the dialer's trust rules are still those that the stream was dialed under.
  package var isCurrent: Bool { dialer.trustRevisions(for: request) == revisions }

  /// Decides whether a request may be sent on the stream.
  ///
  /// - Parameter verdict: the trust verdict of the dial.
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
