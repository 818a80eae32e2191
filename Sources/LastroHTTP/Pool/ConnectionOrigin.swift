// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// How a connection was dialed, and under which trust rules: to ask again before every request.
struct ConnectionOrigin: Sendable {
  enum Admission {
    case admitted
    /// Rules have changed since it was dialed: nothing more goes out on it.
    case outdated
    case refused(TransportError)
  }

  let dialer: any Dialer
  let request: DialRequest
  /// Taken before the dial, so that a change meanwhile is not missed.
  private let revisions: [UInt64]

  init(_ dialer: any Dialer, _ request: DialRequest) {
    self.dialer = dialer
    self.request = request
    revisions = dialer.trustRevisions(for: request)
  }

  /// Whether a request may go out on the connection. The one place that every request passes before its first byte.
  func admit() -> Admission {
    guard dialer.trustRevisions(for: request) == revisions else { return .outdated }
    guard request.tls == nil else { return .admitted }
    do throws(TransportError) {
      try dialer.checkPlaintext(request)
      return .admitted
    } catch {
      return .refused(error)
    }
  }
}

/// Who has the connections: the pool, or the maker of one.
protocol ConnectionOwner: AnyObject, Sendable {
  /// An HTTP/1.1 connection may carry another job.
  func freed(_ connection: HTTP1Connection)
  /// A connection carries no more jobs.
  func gone(_ connection: any ExchangeConnection)
  /// A job was not served, and goes out again on another connection.
  func again(_ job: ExchangeJob)
}
