// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSupport
import LastroTesting
import Synchronization
import TestSupport
import Testing

/// A cancelable that counts its cancellations, and reports each to a closure.
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

@Suite("Cancelable bags", .timeLimit(.minutes(15)))
struct CancelableBagTests {
  @Test("A bag can be made with members", .parity("CB01"))
  func initWithMembers() {
    let members = [CancelableProbe(), CancelableProbe()]
    let bag = CancelableBag(members)
    bag.cancel()
    #expect(members.map(\.cancellations) == [1, 1])
  }

  @Test("A new bag is not cancelled", .parity("CB02"))
  func notCancelled() {
    #expect(!CancelableBag().isCancelled)
  }

  @Test("A cancelled bag reports that it is cancelled", .parity("CB03"))
  func cancelled() {
    let bag = CancelableBag()
    bag.cancel()
    #expect(bag.isCancelled)
  }

  @Test("A member that is added is cancelled with the bag", .parity("CB04"))
  func add() {
    let probe = CancelableProbe()
    let bag = CancelableBag()
    bag.add(cancelable: probe)
    #expect(!probe.isCancelled)
    bag.cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("A member that is added to a cancelled bag is cancelled at once, and not kept", .parity("CB05"))
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

  @Test("Members are cancelled in the order in which they were added, and released", .parity("CB06"))
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

  @Test("Cancelling a bag again does nothing", .parity("CB07"))
  func cancelTwice() {
    let probe = CancelableProbe()
    let bag = CancelableBag([probe])
    bag.cancel()
    bag.cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("The operator += adds a member", .parity("CB08"))
  func addOperator() {
    let probe = CancelableProbe()
    let bag = CancelableBag()
    bag += probe
    #expect(!probe.isCancelled)
    bag.cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("The operator += cancels a member of a cancelled bag", .parity("CB09"))
  func addOperatorToCancelled() {
    let probe = CancelableProbe()
    let bag = CancelableBag()
    bag.cancel()
    bag += probe
    #expect(probe.cancellations == 1)
  }

  @Test("The operator += ignores nil", .parity("CB10"))
  func addOperatorWithNil() {
    let bag = CancelableBag()
    bag += nil
    bag.cancel()
    #expect(bag.isCancelled)
  }

  @Test("Cancelling a member may access the bag")
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

  @Test("Concurrent adding and cancelling cancels everything exactly once")
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

@Suite("Weak and dummy cancelables", .timeLimit(.minutes(15)))
struct WeakCancelableTests {
  @Test("A weak cancelable is not cancelled while its target is not", .parity("WC01"))
  func notCancelled() {
    let probe = CancelableProbe()
    #expect(!WeakCancelable(probe).isCancelled)
  }

  @Test("A weak cancelable is cancelled when its target is", .parity("WC02"))
  func cancelled() {
    let probe = CancelableProbe()
    probe.cancel()
    #expect(WeakCancelable(probe).isCancelled)
  }

  @Test("A weak cancelable is cancelled when its target is gone", .parity("WC03"))
  func gone() {
    let weak = WeakCancelable(CancelableProbe())
    #expect(weak.isCancelled)
  }

  @Test("A weak cancelable cancels its target", .parity("WC04"))
  func forwards() {
    let probe = CancelableProbe()
    WeakCancelable(probe).cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("A weak cancelable does not cancel its target twice", .parity("WC05"))
  func forwardsOnce() {
    let probe = CancelableProbe()
    let weak = WeakCancelable(probe)
    weak.cancel()
    weak.cancel()
    #expect(probe.cancellations == 1)
  }

  @Test("Cancelling a weak cancelable without a target is harmless", .parity("WC06"))
  func cancelGone() {
    let weak = WeakCancelable(CancelableProbe())
    weak.cancel()
    #expect(weak.isCancelled)
  }

  @Test("A dummy is never cancelled", .parity("DC01"))
  func dummy() {
    #expect(!DummyCancelable().isCancelled)
  }

  @Test("Cancelling a dummy does nothing", .parity("DC02"))
  func cancelDummy() {
    let dummy = DummyCancelable()
    dummy.cancel()
    #expect(!dummy.isCancelled)
  }
}
