// SPDX-License-Identifier: Apache-2.0

import Lastro
import Testing

@testable import LastroTransports

@Suite("Viability from netlink", .timeLimit(.minutes(15)))
struct NetlinkPathMonitorTests {
  @Test("The loopback interface is up and has a route to itself; other addresses are not local") func loopback() throws
  {
    let running = LocalAddresses.running()
    #expect(running.contains("127.0.0.1"))
    let peer = try #require(SocketAddress("127.0.0.1", port: 9))
    #expect(peer.sourceOfRoute() == "127.0.0.1")
    #expect(peer.hasRoute(from: "127.0.0.1"))
    // An address of TEST-NET-1 belongs to no host.
    #expect(!peer.hasRoute(from: "192.0.2.1"))
    #expect(!running.contains("192.0.2.1"))
  }

  @Test("Names and NUL are not addresses") func noAddress() {
    #expect(SocketAddress("localhost", port: 9) == nil)
    #expect(SocketAddress("127.0.0.1\u{0}", port: 9) == nil)
  }

  @Test("Parameters watch the path on request, with the monitor that they have") func parameters() {
    let parameters = ConnectionParameters.tcp
    #expect(!parameters.watchesNetworkPath)
    parameters.watchesNetworkPath = true
    #expect(parameters.pathMonitor is NetlinkPathMonitor)
    let fake = FakePathMonitor()
    parameters.pathMonitor = fake
    parameters.watchesNetworkPath = true
    #expect(parameters.pathMonitor is FakePathMonitor)
    parameters.watchesNetworkPath = false
    #expect(parameters.pathMonitor == nil)
  }

  @Test("A connection to this machine can be watched and released; one without an address cannot") func watch() {
    let monitor = NetlinkPathMonitor()
    let watch = monitor.watch(StreamFacts(remoteAddress: "127.0.0.1", remotePort: 9)) { _ in }
    #expect(watch?.isCancelled == false)
    watch?.cancel()
    #expect(watch?.isCancelled == true)
    #expect(monitor.watch(StreamFacts()) { _ in } == nil)
  }
}
