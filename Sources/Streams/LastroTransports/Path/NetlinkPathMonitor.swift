// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Glibc
package import Lastro
internal import LastroSupport

/// Monitors the paths of open connections through the kernel (netlink(7), rtnetlink(7)). The kernel reports every
/// change of links, addresses and routes, and each report triggers a check of the paths.
///
/// A path is available while the connection's local address is on an interface that is up and running
/// (getifaddrs(3)), and the kernel has a route from it to the peer. The route is looked up by connecting a UDP
/// socket, which sends nothing. No privileges are needed.
///
/// One socket, opened for the first watched connection, serves all connections of the process.
package final class NetlinkPathMonitor: NetworkPathMonitor {
  /// The shared monitor of the process.
  package static let shared = NetlinkPathMonitor()

  private struct State {
    var ways: [UInt64: Way] = [:]
    var next: UInt64 = 0
    var source: (any DispatchSourceRead)?
  }

  private struct Way {
    var peer: SocketAddress
    /// The local address of the connection, without a port.
    var local: String
    var isOpen = true
    var handler: @Sendable (Bool) -> Void
  }

  private let queue = DispatchQueue(label: "lastro.netlink")
  private let state = Lock(State())

  init() {}

  /// Watches the path to a peer; returns `nil` if the facts have no IP address, or if the kernel has no route to it.
  package func watch(_ facts: StreamFacts, _ handler: @escaping @Sendable (Bool) -> Void) -> (any Cancelable)? {
    guard let text = facts.remoteAddress, let peer = SocketAddress(text, port: facts.remotePort ?? 9),
      let local = peer.sourceOfRoute()
    else { return nil }
    let id: UInt64? = state.withLock { state in
      if state.source == nil { state.source = openSource() }
      guard state.source != nil else { return nil }
      state.next += 1
      state.ways[state.next] = Way(peer: peer, local: local, handler: handler)
      return state.next
    }
    return id.map { Watch(self, $0) }
  }

  fileprivate func forget(_ id: UInt64) {
    let gone = state.withLock { $0.ways.removeValue(forKey: id) }
    // Release the handler outside the lock.
    withExtendedLifetime(gone) {}
  }

  private func openSource() -> (any DispatchSourceRead)? {
    guard let descriptor = NetlinkSocket.open() else { return nil }
    let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
    source.setEventHandler { [weak self] in
      NetlinkSocket.drain(descriptor)
      self?.lookAgain()
    }
    source.setCancelHandler { _ = close(descriptor) }
    source.resume()
    return source
  }

  deinit { state.withLock { $0.source }?.cancel() }

  private func lookAgain() {
    let ways = state.withLock { $0.ways }
    let running = LocalAddresses.running()
    for (id, way) in ways {
      let isOpen = running.contains(way.local) && way.peer.hasRoute(from: way.local)
      let changed: (@Sendable (Bool) -> Void)? = state.withLock { state in
        guard let known = state.ways[id], known.isOpen != isOpen else { return nil }
        state.ways[id]?.isOpen = isOpen
        return known.handler
      }
      changed?(isOpen)
    }
  }

  private final class Watch: Cancelable {
    private let monitor: NetlinkPathMonitor
    private let id: UInt64
    private let cancelled = Lock(false)

    init(_ monitor: NetlinkPathMonitor, _ id: UInt64) {
      self.monitor = monitor
      self.id = id
    }

    deinit { monitor.forget(id) }

    var isCancelled: Bool { cancelled.withLock { $0 } }

    func cancel() {
      cancelled.withLock { $0 = true }
      monitor.forget(id)
    }
  }
}

/// A socket that receives the kernel's messages about links, addresses and routes.
private enum NetlinkSocket {
  // <linux/rtnetlink.h>: RTMGRP_LINK, _IPV4_IFADDR, _IPV4_ROUTE, _IPV6_IFADDR, _IPV6_ROUTE.
  private static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

  /// A copy of `struct sockaddr_nl` of <linux/netlink.h>, which Swift's module of the C library lacks.
  private struct Address {
    var family = UInt16(AF_NETLINK)
    var padding: UInt16 = 0
    var process: UInt32 = 0
    var groups: UInt32
  }

  static func open() -> Int32? {
    let type = Int32(SOCK_RAW.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_NETLINK, type, 0)
    guard descriptor >= 0 else { return nil }
    var address = Address(groups: groups)
    let isBound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
    guard isBound == 0 else {
      _ = close(descriptor)
      return nil
    }
    return descriptor
  }

  /// Discards the messages: only their arrival matters, so a lost message (`ENOBUFS`) is covered by the next one.
  static func drain(_ descriptor: Int32) {
    withUnsafeTemporaryAllocation(byteCount: 16_384, alignment: 16) { buffer in
      while true {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
        if count > 0 || count < 0 && (errno == EINTR || errno == ENOBUFS) { continue }
        return
      }
    }
  }
}
