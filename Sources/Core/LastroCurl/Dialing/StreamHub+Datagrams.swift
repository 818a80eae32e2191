// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Glibc
internal import Lastro
internal import LastroHTTP
internal import LastroSupport
internal import LastroWire

extension StreamHub {
  /// A look-up of the addresses of a name.
  struct LookUp {
    let dial: StreamDial
    /// A closure that cancels the look-up of a resolver; `nil` for the system's look-ups.
    var giveUp: (@Sendable () -> Void)?
  }

  /// Finds the host's addresses: a fixed answer, the host itself if it is an address, or a look-up, which may take
  /// long.
  func beginDatagrams(_ dial: StreamDial, _ options: ConnectionOptions) {
    let fixed = options.resolutions.last { resolution in
      resolution.port == dial.request.port && (try? HostName(resolution.host)) == dial.host
    }
    resolving[dial.id] = LookUp(dial: dial)
    if let fixed {
      openDatagrams(dial, .success(fixed.addresses))
    } else if dial.host.isIPAddress {
      openDatagrams(dial, .success([dial.host.text]))
    } else {
      deadlines.add(dial.expiresAt, dial.id)
      resolve(dial, options.reach.names)
    }
  }

  private func resolve(_ dial: StreamDial, _ source: NameSource?) {
    let special = source == nil ? nil : SpecialName(dial.host.text)
    if let special {
      let addresses = special.addresses
      return openDatagrams(dial, addresses.isEmpty ? .failure(.missingName(dial.host.text)) : .success(addresses))
    }
    let name = dial.host.text, id = dial.id, inbox = inbox
    guard let source else {
      return SystemLookups.shared.submit(
        .init(name: dial.host) {
          dial.isSettled
        } answer: { addresses in
          _ = inbox.post(StreamCommand.resolved(id, addresses))
        })
    }
    // A resolver may keep the answer's closure forever, so the closure does not retain the dial.
    resolving[id]?.giveUp = source.ask(name, dial.request.port) { addresses in
      _ = inbox.post(StreamCommand.resolved(id, addresses.named(name)))
    }
  }

  /// Cancels a look-up. Returns false if there is none.
  @discardableResult
  func stopResolving(_ id: UInt64, _ error: TransportError) -> Bool {
    guard let lookUp = resolving.removeValue(forKey: id) else { return false }
    lookUp.giveUp?()
    refuse(lookUp.dial, error, leaves: true)
    return true
  }

  func resolved(_ id: UInt64, _ addresses: Result<[String], TransportError>) {
    // The dial was abandoned, or the answer is late.
    guard let dial = resolving[id]?.dial else { return }
    resolving[id]?.giveUp = nil
    openDatagrams(dial, addresses)
  }

  private func openDatagrams(_ dial: StreamDial, _ addresses: Result<[String], TransportError>) {
    guard let loop = dial.loop else { return }
    do throws(TransportError) {
      // Rules may have changed while the name was being resolved.
      let profile = try profile(for: dial.options)
      try checkPlaintext(dial, profile)
      let session = try socket(for: dial, try allowed(try addresses.get(), for: dial, profile.applier.egressRules))
      resolving[dial.id] = nil
      ports[dial.id] = session
      byDescriptor[session.descriptor] = session
      let client = StreamClient(id: dial.id, loop: loop, ending: session.ending)
      let stream = CurlDatagramStream(session.facts, maximumDatagramBytes: session.maximumBytes, client)
      dial.datagrams.offer(.success(stream))
      leave(dial)
    } catch {
      stopResolving(dial.id, error)
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
      throw .egressDenied(.address(denial, dial.server))
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
      let port = UInt16(clamping: dial.request.port)
      let descriptor =
        if let local { clastro_open_datagrams(address, port, local) } else {
          clastro_open_datagrams(address, port, nil)
        }
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
