// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import LastroWire

extension StreamHub {
  /// Returns whether a resolver is asked for the addresses of the host.
  func asks(for dial: StreamDial, _ profile: StreamProfile) -> Bool {
    guard profile.options.reach.names != nil, dial.address == nil else { return false }
    return profile.applier.resolvesName(of: dial.host, port: dial.request.port, isTLS: dial.request.tls != nil)
  }

  /// Starts a dial whose addresses a resolver supplies.
  func race(_ dial: StreamDial, _ profile: StreamProfile) {
    guard let source = profile.options.reach.names else { return }
    let race = DialRace(dial, asking: source, rules: profile.applier.egressRules, hub: self)
    races[dial.id] = race
    race.addDeadline()
    race.start()
  }

  /// Dials one address for a race.
  func attempt(_ attempt: StreamDial, for race: DialRace) {
    delegates[attempt.id] = race
    begin(attempt, restarts: 0)
  }

  func sessions(of dial: StreamDial, for profile: StreamProfile) -> SessionShare? {
    delegates[dial.id]?.sessions(of: dial.id, for: profile)
  }

  /// Makes the session of an attempt that of the dial.
  func adopt(_ session: StreamSession, for dial: StreamDial) {
    races[dial.id] = nil
    delegates[session.id] = nil
    ports[session.id] = nil
    session.dial = dial
    ports[dial.id] = session
    hand(session)
  }

  /// Delivers a connected stream to its caller.
  func hand(_ session: StreamSession) {
    leave(session.dial)
    if let delegate = delegates[session.id] { return delegate.didConnect(session) }
    if session.dial.kind == .inspection { answerInspection(with: session) }
    guard session.dial.kind == .bytes, let loop = session.dial.loop else {
      return finish(session, .streamClosed)
    }
    if let stream = session.stream { byDescriptor[stream.descriptor] = session }
    let stream = CurlStream(session.facts, StreamClient(id: session.id, loop: loop, ending: session.ending))
    // If the dial was abandoned, the last reference is released here, which closes the stream.
    session.dial.bytes.offer(.success(stream))
  }

  private func answerInspection(with session: StreamSession) {
    let trust = session.peer?.trust
    session.dial.inspection.offer(trust.map { .success($0) } ?? .failure(.unrecordedChain))
  }

  /// Ends a race that made no connection.
  func end(_ race: DialRace, _ error: TransportError) {
    guard races.removeValue(forKey: race.dial.id) != nil else { return }
    refuse(race.dial, error, leaves: true)
  }
}

extension OptionApplier {
  /// Returns whether the name of a host is resolved locally and has no fixed answer.
  func resolvesName(of host: HostName, port: Int, isTLS: Bool) -> Bool {
    if host.isIPAddress || options.unixSocketPath != nil { return false }
    let isFixed = options.resolutions.contains { $0.port == port && (try? HostName($0.host)) == host }
    return !isFixed && proxy(isTLS: isTLS, authority: "\(host.text.bracketedHost):\(port)").isEmpty
  }
}
