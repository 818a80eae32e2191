// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroWire

/// Opens links that libcurl dials: libcurl resolves names, connects, uses proxies and performs TLS handshakes.
final class CurlConnector: Connector, DialTaker {
  /// The state that is shared by the connections of a route: to one host, or to a proxy that serves many hosts.
  private final class RouteMemory {
    let forwardProxy: ForwardProxy?
    let keepsSessions: Bool
    /// The profile (options and trust) of the latest connection.
    var profile: StreamProfile?
    private var sessions: SessionShare?
    private var sessionsProfile: UInt64?

    init(_ forwardProxy: ForwardProxy?, isTLS: Bool) {
      self.forwardProxy = forwardProxy
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
  }

  private struct Dial {
    let owner: any DialOwner
    let memory: RouteMemory?
    var session: StreamSession?
  }

  private let hub: StreamHub
  private var dials: [UInt64: Dial] = [:]

  init(_ hub: StreamHub) { self.hub = hub }

  // MARK: Routes

  func route(for key: HostKey, with options: SharedOptions) throws(TransportError) -> Route {
    let profile = try hub.profile(for: options)
    let proxy = ForwardProxy(profile.applier.proxy(isTLS: key.isTLS, authority: key.authority), for: key)
    let origin = proxy?.origin ?? (try? Origin("\(key.isTLS ? "https" : "http")://\(key.authority)"))
    return Route(
      key: proxy?.url ?? key.authority, origin: origin,
      proxy: proxy.map { ForwardingProxy(authorization: $0.authorization) },
      memory: RouteMemory(proxy, isTLS: key.isTLS))
  }

  /// Refuses a target here, because a failed dial would end a different request: the one that has waited for the proxy
  /// longest.
  func refusal(of target: TrustTarget, over route: Route, with options: SharedOptions) -> TransportError? {
    guard route.proxy != nil else { return nil }
    do throws(TransportError) {
      let profile = try hub.profile(for: options)
      if case .refused(let failure) = profile.trust.rules.judgePlaintext(target) { throw .refusedTrust(failure) }
      return profile.applier.egressRules?.refusal(ofLiteral: target)
    } catch {
      return error
    }
  }

  /// Returns whether requests must wait, at most once a second, until the files of TLS options have been checked for
  /// changes.
  func mustCheck(_ route: Route, now: Int64) -> Bool {
    guard let profile = memory(of: route)?.profile, profile.uses > 0 else { return false }
    return hub.mustLook(at: profile, now: now)
  }

  func check(_ route: Route, until: Int64, _ proceed: @escaping () -> Void) {
    guard let profile = memory(of: route)?.profile else { return proceed() }
    hub.look(at: profile, until: until) { _ in proceed() }
  }

  /// Returns the memory of a route. It was always created by ``route(for:with:)``.
  private func memory(of route: Route) -> RouteMemory? { route.memory.map { unsafeDowncast($0, to: RouteMemory.self) } }

  // MARK: Dials

  func dial(_ dial: LinkDial, for owner: any DialOwner) {
    dials[dial.id] = Dial(owner: owner, memory: memory(of: dial.route))
    hub.dial(StreamDial(dial), for: self)
  }

  func takeLink(of dial: UInt64) -> (any Link)? {
    guard let known = dials.removeValue(forKey: dial), let session = known.session else { return nil }
    known.memory?.profile = session.profile
    return SocketLink(session, isForwarding: known.memory?.forwardProxy != nil)
  }

  func cancelDial(_ id: UInt64) {
    dials[id] = nil
    hub.drop(id)
  }

  func sessions(of dial: UInt64, for profile: StreamProfile) -> SessionShare? {
    dials[dial]?.memory?.sessions(for: profile)
  }

  func take(_ session: StreamSession) {
    dials[session.id]?.session = session
    dials[session.id]?.owner.dialStands(session.id)
  }

  func fail(_ id: UInt64, _ error: TransportError) {
    dials.removeValue(forKey: id)?.owner.dialFailed(id, error)
  }

  func tearDown() { dials = [:] }
}
