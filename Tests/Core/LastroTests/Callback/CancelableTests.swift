// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import Synchronization
import Testing

/// Counts how often it is cancelled, and in which order among others.
final class CancelableProbe: Cancelable {
  private let count = Atomic(0)
  private let onCancel: (@Sendable () -> Void)?

  init(onCancel: (@Sendable () -> Void)? = nil) { self.onCancel = onCancel }

  var cancellations: Int { count.load(ordering: .acquiring) }
  var isCancelled: Bool { cancellations > 0 }

  func cancel() {
    count.add(1, ordering: .acquiringAndReleasing)
    onCancel?()
  }
}

@Suite("Cancelable bags", .timeLimit(.minutes(5)))
struct CancelableBagTests {
  @Test("CB01 a bag is made with members")
  func initWithMembers() {
    let members = [CancelableProbe(), CancelableProbe()]
    let bag = CancelableBag(members)
    bag.cancel()
    #expect(members.map(\.cancellations) == [1, 1])
  }

  @Test("CB02 a new bag is not cancelled")
  func notCancelled() {
    #expect(!CancelableBag().isCancelled)
  }

  @Test("CB03 a cancelled bag says so")
  func cancelled() {
    let bag = CancelableBag()
    bag.cancel()
    #expect(bag.isCancelled)
  }

  @Test("CB04 what is added is cancelled later")
  func add() {
    let probe = CancelableProbe()
    let bag = CancelableBag()
    bag.add(cancelable: probe)
    #expect(!probe.isCancelled)
    bag.cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("CB05 what is added to a cancelled bag is cancelled at once, and not kept")
  func addToCancelled() {
    let bag = CancelableBag()
    bag.cancel()
    weak var kept: CancelableProbe?
    do {
      let probe = CancelableProbe()
      kept = probe
      bag.add(cancelable: probe)
      #expect(probe.cancellations == 1)
    }
    #expect(kept == nil)
  }

  @Test("CB06 all members are cancelled, in the order they came, and let go of")
  func cancelAll() {
    let order = Lock<[Int]>([])
    let bag = CancelableBag()
    weak var kept: CancelableProbe?
    do {
      for index in 0..<3 {
        let probe = CancelableProbe { order.withLock { $0.append(index) } }
        kept = probe
        bag.add(cancelable: probe)
      }
    }
    #expect(kept != nil)
    bag.cancel()
    #expect(order.withLock { $0 } == [0, 1, 2])
    #expect(kept == nil)
  }

  @Test("CB07 cancelling again does nothing")
  func cancelTwice() {
    let probe = CancelableProbe()
    let bag = CancelableBag([probe])
    bag.cancel()
    bag.cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("CB08 += adds")
  func addOperator() {
    let probe = CancelableProbe()
    let bag = CancelableBag()
    bag += probe
    #expect(!probe.isCancelled)
    bag.cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("CB09 += to a cancelled bag cancels")
  func addOperatorToCancelled() {
    let probe = CancelableProbe()
    let bag = CancelableBag()
    bag.cancel()
    bag += probe
    #expect(probe.cancellations == 1)
  }

  @Test("CB10 += ignores nil")
  func addOperatorWithNil() {
    let bag = CancelableBag()
    bag += nil
    bag.cancel()
    #expect(bag.isCancelled)
  }

  @Test("a member may come back to its bag while it is cancelled")
  func reentrancy() {
    let bag = CancelableBag()
    let late = CancelableProbe()
    bag += CancelableProbe {
      bag.cancel()
      bag += late
    }
    bag.cancel()
    #expect(late.cancellations == 1)
  }

  @Test("D4 adding and cancelling at the same time: everything is cancelled exactly once")
  func race() async {
    for _ in 0..<500 {
      let bag = CancelableBag()
      let probes = (0..<8).map { _ in CancelableProbe() }
      await withTaskGroup { group in
        for (index, probe) in probes.enumerated() {
          group.addTask { bag.add(cancelable: probe) }
          if index == 3 { group.addTask { bag.cancel() } }
        }
      }
      #expect(probes.allSatisfy { $0.cancellations == 1 })
    }
  }
}

@Suite("Weak and dummy cancelables", .timeLimit(.minutes(5)))
struct WeakCancelableTests {
  @Test("WC01 it is not cancelled while its target is not")
  func notCancelled() {
    let probe = CancelableProbe()
    #expect(!WeakCancelable(probe).isCancelled)
  }

  @Test("WC02 it is cancelled when its target is")
  func cancelled() {
    let probe = CancelableProbe()
    probe.cancel()
    #expect(WeakCancelable(probe).isCancelled)
  }

  @Test("WC03 it is cancelled when its target is gone")
  func gone() {
    let weak = WeakCancelable(CancelableProbe())
    #expect(weak.isCancelled)
  }

  @Test("WC04 it cancels its target")
  func forwards() {
    let probe = CancelableProbe()
    WeakCancelable(probe).cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("WC05 it does not cancel its target twice")
  func forwardsOnce() {
    let probe = CancelableProbe()
    let weak = WeakCancelable(probe)
    weak.cancel()
    weak.cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("WC06 cancelling without a target is harmless")
  func cancelGone() {
    let weak = WeakCancelable(CancelableProbe())
    weak.cancel()
    #expect(weak.isCancelled)
  }

  @Test("DC01 a dummy is never cancelled")
  func dummy() {
    #expect(!DummyCancelable().isCancelled)
  }

  @Test("DC02 cancelling a dummy does nothing")
  func cancelDummy() {
    let dummy = DummyCancelable()
    dummy.cancel()
    #expect(!dummy.isCancelled)
  }
}
