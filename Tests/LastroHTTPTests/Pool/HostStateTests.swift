// SPDX-License-Identifier: Apache-2.0

import LastroTesting
import Testing

@testable import Lastro
@testable import LastroHTTP

@Suite("Host state")
struct HostStateTests {
  private static func jobs(_ count: Int) -> [ExchangeJob] {
    let request = TransferRequest.to()
    let settings = DialerTransport.Configuration().settings
    return (0..<count).map { _ in ExchangeJob(request, asking: request.asks, settings: settings) }
  }

  private static func given(_ steps: [HostState.Step]) -> [PendingDial] {
    steps.compactMap { if case .giveUp(let dial) = $0 { dial } else { nil } }
  }

  /// Jobs, and how many may have a connection; where HTTP/2 may come of it, all share one dial.
  @Test(
    "a dial that no job wants is given up: that of the job that is over, or else the latest", arguments: [false, true],
    [1, 2, 9])
  func forget(mayShare: Bool, mostConnections: Int) {
    let limits = HostState.Limits(connections: mostConnections, lifetime: .seconds(60))
    for count in 1...4 {
      for first in 0..<count {
        var host = HostState(mayShare: mayShare)
        var jobs = Self.jobs(count)
        var dials: [PendingDial] = []
        for job in jobs {
          for case .dial(_, let dial) in host.enter(job, front: false, now: .zero, limits) { dials.append(dial) }
        }
        #expect(dials.count == (mayShare ? 1 : min(count, mostConnections)))
        var over = jobs.remove(at: first)
        while true {
          var wanted = dials
          var unwanted: [PendingDial] = []
          if dials.count > jobs.count {
            let own = dials.firstIndex { $0.job == ObjectIdentifier(over) }
            unwanted.append(wanted.remove(at: own ?? dials.count - 1))
          }
          let given = Self.given(host.forget(over))
          #expect(given.elementsEqual(unwanted, by: ===) && host.dialing.elementsEqual(wanted, by: ===))
          #expect(host.waiting.map(\.job).elementsEqual(jobs, by: ===) && wanted.count <= jobs.count)
          // Neither is told twice.
          var steps = host.forget(over)
          for dial in given { steps += host.dialFailed(dial, .cancelled(), now: .zero, limits) }
          #expect(steps.isEmpty)
          #expect(host.waiting.count == jobs.count && host.dials == wanted.count)
          dials = wanted
          guard let next = jobs.popLast() else { break }
          over = next
        }
        #expect(host.isUnused)
      }
    }
  }

  @Test("a job behind one that is over has a dial of its own, where its dial was given up")
  func again() {
    let limits = HostState.Limits(connections: 9, lifetime: .seconds(60))
    for mayShare in [false, true] {
      var host = HostState(mayShare: mayShare)
      for job in Self.jobs(3) {
        let dials = host.enter(job, front: false, now: .zero, limits).count {
          if case .dial = $0 { true } else { false }
        }
        let given = Self.given(host.forget(job))
        #expect(dials == 1 && given.count == 1)
      }
      #expect(host.isUnused)
    }
  }

  @Test("a server that asked for HTTP/1.1 is asked for HTTP/2 again after five minutes")
  func requirement() {
    var host = HostState(mayShare: true)
    #expect(!host.wantsHTTP1(now: .zero))
    host.demandHTTP1(now: .seconds(60))
    #expect(host.wantsHTTP1(now: .seconds(359)) && !host.wantsHTTP1(now: .seconds(360)))
  }
}
