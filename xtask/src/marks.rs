//! Parts of a document that a command writes: from the line `<!-- MARK -->` to the line `<!-- end -->`.

use std::ops::Range;

const END: &str = "<!-- end -->";

/// Where the part is that a mark begins.
pub(crate) fn part(text: &str, mark: &str) -> Result<Range<usize>, String> {
    let line = format!("<!-- {mark} -->\n");
    let start = text.find(&line).ok_or_else(|| format!("there is no mark {line}"))? + line.len();
    let length = text[start..].find(END).ok_or_else(|| format!("the mark {mark} has no end"))?;
    Ok(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn a_part_is_what_stands_between_its_marks() {
        let text = "a\n<!-- one -->\n1\n<!-- end -->\n<!-- two -->\n2\n<!-- end -->\n";
        assert_eq!(&text[part(text, "two").unwrap()], "2\n");
        assert!(part(text, "three").is_err());
        assert!(part("<!-- one -->\n1\n", "one").is_err());
    }
}
