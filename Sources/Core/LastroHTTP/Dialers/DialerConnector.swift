// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// A connector that opens links with any `Dialer`.
final class DialerConnector: Connector {
  private let dialer: any Dialer
  private let role: ServerTrust.Role
  private let context: LoopContext
  private let reference = LoopReference<DialerConnector>()
  private var dials: [UInt64: (task: Task<Void, Never>, owner: HostPool)] = [:]

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

  func dial(_ dial: LinkDial, for owner: HostPool) {
    var request = dial.request
    request.role = role
    request.connection = dial.options.areGiven ? dial.options.options : nil
    request.connectTimeout = request.connectTimeout ?? dial.deadline
    let id = dial.id, wanted = request
    // The stream's trust stays that of the name.
    if let member = dial.member {
      request.host = member.host
      request.port = member.port ?? request.port
      if wanted.tls != nil, wanted.tls?.serverName == nil { request.tls?.serverName = wanted.host }
    }
    let dialed = request
    let task = Task { [dialer, reference, inbox = context.inbox] in
      let origin = LinkOrigin(dialer, wanted)
      let outcome: Result<any ByteStream, TransportError>
      do throws(TransportError) {
        outcome = .success(try await dialer.dial(dialed))
      } catch {
        // The server has received nothing of the request, regardless of what the dialer sent to a proxy.
        let target = "\(wanted.host.bracketedHost):\(wanted.port)"
        outcome = .failure(error.beforeSending(to: target, within: wanted.connectTimeout))
      }
      let isPosted = inbox.perform { _ in
        if let connector = reference.target { return connector.ended(id, origin, outcome) }
        if case .success(let stream) = outcome { stream.close() }
      }
      if !isPosted, case .success(let stream) = outcome { stream.close() }
    }
    dials[id] = (task, owner)
  }

  private func ended(_ id: UInt64, _ origin: LinkOrigin, _ outcome: Result<any ByteStream, TransportError>) {
    guard let owner = dials.removeValue(forKey: id)?.owner else {
      // The dial was cancelled. A dialer that did not react to the cancellation has opened a stream that is not needed.
      if case .success(let stream) = outcome { stream.close() }
      return
    }
    switch outcome {
    case .success(let stream): owner.linkOpened(id, StreamLink(stream, origin, context))
    case .failure(let error): owner.dialFailed(id, error)
    }
  }

  func cancelDial(_ id: UInt64) { dials.removeValue(forKey: id)?.task.cancel() }
}
