// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import LastroWire

// Sessions that have connected are delivered to the caller of the dial or to its delegate, such as a race.
extension StreamHub {
  /// Starts a race if a resolver supplies the addresses of a dial. Returns false if no resolver does.
  func startRace(_ dial: StreamDial, _ profile: StreamProfile) -> Bool {
    guard let source = profile.options.reach.names, dial.address == nil, profile.resolvesName(of: dial) else {
      return false
    }
    let race = DialRace(dial, asking: source, rules: profile.egressRules, hub: self)
    pending[dial.id] = PendingDial(dial: dial, race: race)
    race.addDeadline()
    ask(source, for: dial)
    return true
  }

  func sessions(of dial: StreamDial, for profile: StreamProfile) -> SessionShare? {
    delegates[dial.id]?.sessions(of: dial.id, for: profile)
  }

  /// Makes the session of an attempt that of the dial.
  func adopt(_ session: StreamSession, for dial: StreamDial) {
    pending[dial.id] = nil
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
    guard session.dial.loop != nil else {
      return end(session, .streamClosed)
    }
    if let stream = session.stream { byDescriptor[stream.descriptor] = session }
    let trust = session.connectedPeer?.trust
    let stream = CurlStream(session.facts, of: session.dial, trust: trust)
    session.dial.stream = session.stream
    // If the dial was abandoned, the last reference is released here, which closes the stream.
    session.dial.answer.offer(.success(stream))
  }
}
