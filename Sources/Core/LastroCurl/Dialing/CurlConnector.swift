// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// Opens links that libcurl dials: libcurl resolves names, connects, uses proxies and performs TLS handshakes.
final class CurlConnector: Connector, DialDelegate {
  /// The state that is shared by the connections of a route: to one host, or to a proxy that serves many hosts.
  private final class State: RouteState {
    let forwardProxy: ForwardProxy?
    private let hub: StreamHub
    private let options: SharedOptions
    let keepsSessions: Bool
    /// The profile (options and trust) of the latest connection.
    var profile: StreamProfile?
    private var sessions: SessionShare?
    private var sessionsProfile: UInt64?

    init(_ forwardProxy: ForwardProxy?, isTLS: Bool, _ options: SharedOptions, _ hub: StreamHub) {
      self.forwardProxy = forwardProxy
      self.hub = hub
      self.options = options
      keepsSessions = isTLS || forwardProxy?.isTLS == true
    }

    /// Returns the TLS sessions for a profile. Sessions of another profile are not resumed: they prove nothing under
    /// other roots or rules, and identify the client by the certificate that it had then.
    func sessions(for profile: StreamProfile) -> SessionShare? {
      guard keepsSessions else { return nil }
      if sessionsProfile != profile.id {
        sessionsProfile = profile.id
        sessions = SessionShare()
      }
      return sessions
    }

    /// Returns whether requests must wait, at most once a second, until the files of TLS options have been checked for
    /// changes.
    func mustCheck(now: Int64) -> Bool {
      profileInUse?.trust.files.mustLook(now: now) ?? false
    }

    /// The profile of the latest connection, or of the dials under way if that one is not in use any longer; `nil` if
    /// there are none. The request may use a connection that is being dialed.
    private var profileInUse: StreamProfile? {
      if let profile, profile.uses > 0, !profile.trust.files.isOutdated { return profile }
      guard let latest = hub.knownProfile(for: options), latest.uses > 0 else { return nil }
      return latest
    }

    func check(until: Int64, _ proceed: @escaping () -> Void) {
      guard let profile = profileInUse else { return proceed() }
      hub.fileReads.wait(for: nil, of: profile, until: until) { _ in proceed() }
    }
  }

  private let hub: StreamHub
  private var dials: [UInt64: (owner: HostPool, state: State?)] = [:]

  init(_ hub: StreamHub) { self.hub = hub }

  // MARK: Routes

  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route {
    let profile = try hub.profile(for: options)
    let proxy = ForwardProxy(profile.proxy(isTLS: key.isTLS, authority: key.authority), for: key)
    let origin = proxy?.origin ?? (try? Origin("\(key.isTLS ? "https" : "http")://\(key.authority)"))
    return Route(
      key: proxy?.url ?? key.authority, origin: origin,
      proxy: proxy.map { ForwardingProxy(authorization: $0.authorization) },
      state: State(proxy, isTLS: key.isTLS, options, hub))
  }

  // MARK: Dials

  func dial(_ dial: LinkDial, for owner: HostPool) throws(TransportError) {
    // The state was created by `route(for:with:)`.
    let state = dial.route.state.map { unsafeDowncast($0, to: State.self) }
    if state?.forwardProxy != nil { try checkForwarding(to: dial.target, with: dial.options) }
    let stream = try StreamDial(dial)
    dials[dial.id] = (owner, state)
    hub.dial(stream, for: self)
  }

  /// Checks that a proxy may receive a request for a host. A dial that failed for that reason would end a different
  /// request: the one that has waited for the proxy longest.
  private func checkForwarding(to target: TrustTarget, with options: SharedOptions) throws(TransportError) {
    let profile = try hub.profile(for: options)
    try profile.trust.rules.checkPlaintext(target)
    if let refusal = profile.egressRules?.refusal(ofLiteral: target) { throw refusal }
  }

  func cancelDial(_ id: UInt64) {
    dials[id] = nil
    hub.drop(id)
  }

  func sessions(of dial: UInt64, for profile: StreamProfile) -> SessionShare? {
    dials[dial]?.state?.sessions(for: profile)
  }

  func didConnect(_ session: StreamSession) {
    guard let dial = dials.removeValue(forKey: session.id), let stream = session.stream else { return }
    dial.state?.profile = session.profile
    dial.owner.linkOpened(session.id, SocketLink(session, stream, isForwarding: dial.state?.forwardProxy != nil))
  }

  func fail(_ id: UInt64, _ error: TransportError) {
    dials.removeValue(forKey: id)?.owner.dialFailed(id, error)
  }
}
