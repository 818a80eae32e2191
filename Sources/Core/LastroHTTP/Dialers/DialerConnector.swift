// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// Opens links with any `Dialer`.
final class DialerConnector: Connector {
  private enum Dial {
    case underWay(Task<Void, Never>, any DialOwner)
    case standing(any Link)
  }

  private let dialer: any Dialer
  private let role: ServerTrust.Role
  private let context: LoopContext
  private let reference = LoopReference<DialerConnector>()
  private var dials: [UInt64: Dial] = [:]

  init(_ dialer: any Dialer, role: ServerTrust.Role, _ context: LoopContext) {
    self.dialer = dialer
    self.role = role
    self.context = context
    reference.target = self
  }

  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route {
    let origin = try? Origin("\(key.isTLS ? "https" : "http")://\(key.authority)")
    return Route(key: key.authority, origin: origin)
  }

  /// Returns `nil`: a dial asks its dialer itself.
  func refusal(of target: TrustTarget, over route: Route, with options: SharedOptions) -> TransportError? { nil }

  /// Links ask their dialer themselves.
  func mustCheck(_ route: Route, now: Int64) -> Bool { false }

  func check(_ route: Route, until: Int64, _ proceed: @escaping () -> Void) { proceed() }

  func dial(_ dial: LinkDial, for owner: any DialOwner) {
    var request = dial.request
    request.role = role
    request.connection = dial.options.areGiven ? dial.options.options : nil
    request.connectTimeout = request.connectTimeout ?? dial.deadline
    let id = dial.id, wanted = request
    let task = Task { [dialer, reference, inbox = context.inbox] in
      let origin = LinkOrigin(dialer, wanted)
      let outcome: Result<any ByteStream, TransportError>
      do throws(TransportError) {
        outcome = .success(try await dialer.dial(wanted))
      } catch {
        // Whatever the dialer sent to a proxy, the server has seen nothing of the request.
        let target = "\(wanted.host.bracketedHost):\(wanted.port)"
        outcome = .failure(error.beforeSending(to: target, within: wanted.connectTimeout))
      }
      let isPosted = inbox.post(.guest(DialOutcome(reference: reference, id: id, origin: origin, outcome: outcome)))
      if !isPosted, case .success(let stream) = outcome { stream.close() }
    }
    dials[id] = .underWay(task, owner)
  }

  fileprivate func ended(_ id: UInt64, _ origin: LinkOrigin, _ outcome: Result<any ByteStream, TransportError>) {
    guard case .underWay(_, let owner)? = dials.removeValue(forKey: id) else {
      // Given up: whether the dialer listened or not, its stream is not wanted.
      if case .success(let stream) = outcome { stream.close() }
      return
    }
    switch outcome {
    case .success(let stream):
      dials[id] = .standing(StreamLink(stream, origin, context))
      owner.dialStands(id)
    case .failure(let error): owner.dialFailed(id, error)
    }
  }

  func takeLink(of dial: UInt64) -> (any Link)? {
    guard case .standing(let link)? = dials[dial] else { return nil }
    dials[dial] = nil
    return link
  }

  func cancelDial(_ id: UInt64) {
    switch dials.removeValue(forKey: id) {
    case .underWay(let task, _): task.cancel()
    case .standing(let link): link.close()
    case nil: break
    }
  }

  func tearDown() { for id in Array(dials.keys) { cancelDial(id) } }
}

/// The outcome of a dial.
private struct DialOutcome: GuestCommand {
  let reference: LoopReference<DialerConnector>
  let id: UInt64
  let origin: LinkOrigin
  let outcome: Result<any ByteStream, TransportError>

  func perform(on loop: LoopCore) {
    if let connector = reference.target { return connector.ended(id, origin, outcome) }
    if case .success(let stream) = outcome { stream.close() }
  }
}
