// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Glibc
internal import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import LastroWire

extension StreamHub {
  /// Finds the host's addresses: a fixed answer, the host itself if it is an address, or a look-up, which may take
  /// long.
  func beginDatagrams(_ dial: StreamDial, _ profile: StreamProfile) {
    pending[dial.id] = PendingDial(dial: dial)
    deadlines.add(dial.expiresAt, dial.id)
    if let fixed = profile.fixedAnswer(for: dial) {
      openDatagrams(dial, .success(fixed.addresses))
    } else if dial.host.isIPAddress {
      openDatagrams(dial, .success([dial.host.text]))
    } else if let source = profile.options.reach.names {
      ask(source, for: dial)
    } else {
      let id = dial.id, inbox = context.inbox
      SystemLookups.shared.submit(
        .init(name: dial.host) {
          dial.answer.isGiven
        } answer: { addresses in
          _ = inbox.post(.resolved(id, addresses))
        })
    }
  }

  /// Asks a resolver for the addresses of a dial's name. The loop performs ``StreamCommand/resolved(_:_:)`` with the
  /// answer. No resolver is asked for a special name.
  func ask(_ source: NameSource, for dial: StreamDial) {
    // A resolver may keep the answer's closure forever, so the closure does not retain the dial.
    let name = dial.host.text, id = dial.id, inbox = context.inbox
    let post = { @Sendable (answer: NameSource.Answer) in _ = inbox.post(.resolved(id, answer.named(name))) }
    if let special = SpecialName(name) { return post(.success(special.addresses)) }
    let giveUp = source.ask(name, dial.request.port, post)
    pending[id]?.giveUp = giveUp
  }

  func resolved(_ id: UInt64, _ addresses: Result<[String], TransportError>) {
    // The dial was abandoned, or the answer is late.
    guard let dial = pending[id] else { return }
    pending[id]?.giveUp = nil
    if let race = dial.race { race.answered(addresses) } else { openDatagrams(dial.dial, addresses) }
  }

  private func openDatagrams(_ dial: StreamDial, _ addresses: Result<[String], TransportError>) {
    do throws(TransportError) {
      // Rules may have changed while the name was being resolved.
      let profile = try profile(for: dial.options)
      try checkPlaintext(dial, profile)
      let session = try socket(for: dial, try allowed(try addresses.get(), for: dial, profile.egressRules))
      pending[dial.id] = nil
      ports[dial.id] = session
      byDescriptor[session.descriptor] = session
      dial.answer.offer(.success(CurlStream(session.facts, of: dial)))
      leave(dial)
    } catch {
      giveUp(dial.id, error)
    }
  }

  /// Returns the addresses that may be connected to.
  private func allowed(
    _ addresses: [String], for dial: StreamDial, _ rules: EgressRules?
  ) throws(TransportError) -> [String] {
    guard let rules else { return addresses }
    let denials = addresses.map { rules.denial(of: $0, port: dial.request.port) }
    let allowed = zip(addresses, denials).filter { $0.1 == nil }.map(\.0)
    if let denial = denials.lazy.compactMap(\.self).first, allowed.isEmpty || !rules.usesAllowedOfMixed {
      throw .egressDenied(denial, of: dial.server)
    }
    return allowed
  }

  private func socket(for dial: StreamDial, _ addresses: [String]) throws(TransportError) -> DatagramSession {
    let local = dial.options.options.localInterface
    if let local, local.utf8.contains(0) {
      throw .interfaceWithNUL
    }
    var code = EADDRNOTAVAIL
    for address in addresses where !address.utf8.contains(0) {
      let descriptor = clastro_open_datagrams(address, "\(dial.request.port)", local)
      if descriptor >= 0 { return DatagramSession(dial, descriptor: descriptor, address: address, hub: self) }
      code = errno
    }
    guard let local, code == ENODEV else {
      throw .noDatagramSocket(code)
    }
    if local.utf8.count >= Int(IFNAMSIZ) || local.contains("!") {
      throw .unsupportedInterface(local)
    }
    throw .missingInterface(local, code)
  }
}
