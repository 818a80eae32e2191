// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lastro
internal import LastroSupport

/// An IPv4 or IPv6 address and a port, in the format of the system calls.
struct SocketAddress {
  private var storage = sockaddr_storage()
  private let length: socklen_t

  /// Parses an address, IPv6 optionally with a zone; returns `nil` for a name.
  init?(_ text: String, port: Int) {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
    hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard !text.utf8.contains(0), getaddrinfo(text, String(port), &hints, &list) == 0, let first = list else {
      return nil
    }
    defer { freeaddrinfo(list) }
    guard let address = first.pointee.ai_addr,
      first.pointee.ai_addrlen <= socklen_t(MemoryLayout<sockaddr_storage>.size)
    else { return nil }
    length = first.pointee.ai_addrlen
    withUnsafeMutableBytes(of: &storage) { bytes in
      bytes.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(first.pointee.ai_addrlen)))
    }
  }

  /// Returns the address that the kernel would send from; `nil` if it has no route.
  func sourceOfRoute() -> String? { connected(from: nil) }

  /// Returns whether the kernel has a route from a local address.
  func hasRoute(from local: String) -> Bool { connected(from: local) != nil }

  /// Connects a UDP socket, which makes the kernel look up a route without sending a packet.
  private func connected(from local: String?) -> String? {
    let descriptor = socket(
      Int32(storage.ss_family), Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    defer { _ = close(descriptor) }
    if let local {
      guard let source = SocketAddress(local, port: 0), source.call({ bind(descriptor, $0, $1) }) == 0 else {
        return nil
      }
    }
    let code = uninterrupted { call { connect(descriptor, $0, $1) } }
    guard code == 0 else { return nil }
    var own = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isKnown = withUnsafeMutablePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    guard isKnown == 0 else { return nil }
    return withUnsafePointer(to: &own) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { LocalAddresses.text(of: $0, size) }
    }
  }

  private func call(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    withUnsafePointer(to: storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }
}

/// The addresses of this machine.
enum LocalAddresses {
  /// Returns the addresses of interfaces that are up and running (`IFF_UP`, `IFF_RUNNING`).
  static func running() -> Set<String> {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return [] }
    defer { freeifaddrs(list) }
    let needed = UInt32(IFF_UP) | UInt32(IFF_RUNNING)
    var addresses: Set<String> = []
    for entry in sequence(first: list, next: { $0?.pointee.ifa_next }) {
      guard let entry = entry?.pointee, entry.ifa_flags & needed == needed, let address = entry.ifa_addr else {
        continue
      }
      let family = Int32(address.pointee.sa_family)
      guard family == AF_INET || family == AF_INET6 else { continue }
      let size = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
      if let text = text(of: address, socklen_t(size)) { addresses.insert(text) }
    }
    return addresses
  }

  /// Returns the address without its port; a link-local address includes its zone.
  static func text(of address: UnsafePointer<sockaddr>, _ size: socklen_t) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { buffer in
      guard let start = buffer.baseAddress,
        getnameinfo(address, size, start, socklen_t(buffer.count), nil, 0, NI_NUMERICHOST) == 0
      else { return nil }
      return String(cString: start)
    }
  }
}
