//! A report that somebody sent: whatever the JSON says, reading and rendering it does not panic, and what was
//! read is written and read again to the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use unstall_core::sample::Sample;
use unstall_core::text::Charset;
use unstall_core::timeline::Timeline;

fuzz_target!(|data: &[u8]| {
    let Some((&width, json)) = data.split_first() else { return };
    if let Ok(timeline) = serde_json::from_slice::<Timeline>(json) {
        let text = timeline.text(width.into(), Charset::Unicode);
        assert!(text.lines().all(|line| line.contains('\u{2588}')), "{text}");
        let written = serde_json::to_string(&timeline).expect("a timeline that was read can be written");
        assert_eq!(serde_json::from_str::<Timeline>(&written).ok(), Some(timeline), "{written}");
    }
    if let Ok(sample) = serde_json::from_slice::<Sample>(json) {
        let modes = sample.modes();
        assert_eq!(modes.iter().map(|mode| mode.count).sum::<usize>(), sample.n());
        assert_eq!(sample.buckets().iter().map(|bucket| bucket.2).sum::<usize>(), sample.n());
        let _text = sample.histogram(width.into(), Charset::Ascii);
    }
});
